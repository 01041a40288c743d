import { hash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { PagecacheError, type ErrorCode } from '../errors.ts'
import { hourLength } from '../lib/moment.ts'
import { oncePerTurn } from '../lib/once-per-turn.ts'
import type { AdminSessionRow } from '../records/api-rows.ts'
import type { Records } from '../records/open.ts'
import { findActiveClient } from './clients.ts'
import type { Identity, Judge, Judgement, Presenter, Scope } from './judgement.ts'
import type { KeyRing } from './key-ring.ts'

/** Logins of the admin page, each known by the secret value of a cookie. A judge of these values. */
export interface SessionStore extends Judge {
  /** Lifetime of a session in milliseconds; null: that of the token that it was opened with. */
  readonly lifetime: number | null
  /** Opens a session for a client that has proved who it is. Returns the value of its cookie, which is never that of an earlier session. */
  open(client: Identity, token: string): Promise<string>
  /** @throws STORE_UNREACHABLE, STORE_BUSY and others if the session cannot be looked up and so stays valid */
  close(value: string): Promise<void>
}

/** A working day, in milliseconds. */
const lifetime = 12 * hourLength

/** Most sessions of one client; a further login ends the oldest, so that a stolen token cannot fill the database. */
const maxPerClient = 20

/** Most sessions in memory. */
const maxKnown = 1000

/** 32 random bytes in base64url. */
const valuePattern = /^[\w-]{43}$/

/** Pause between two attempts to delete a session, in milliseconds. */
const deleteInterval = 1000

/** Temporary errors, which end when the records can be written again. */
const passing: readonly ErrorCode[] = ['STORE_FULL', 'STORE_BUSY', 'STORE_UNREACHABLE', 'STORE_LOST']

const endedSession: Judgement = { kind: 'refused', message: 'The session has ended. Log in again.' }

interface KnownSession {
  row: AdminSessionRow
  judgement: Judgement
  /** The version of the records for which the judgement is valid. */
  version: string
}

/** Sessions in the records: a logout, a revoked client or a dropped key ends them at once in every process. */
export class Sessions implements SessionStore {
  readonly lifetime = lifetime
  readonly #records: Records
  readonly #keys: KeyRing
  readonly #known = new LRUCache<string, KnownSession>({ max: maxKnown })
  /** Sessions opened and closed by this process: a full disk must prevent neither login nor logout. */
  readonly #unsaved = new LRUCache<string, AdminSessionRow>({ max: maxKnown })
  readonly #closed = new LRUCache<string, true>({ max: maxKnown })
  /** Sessions to delete when the records can be written again. */
  readonly #deleting = new Set<string>()
  readonly #version: () => string

  constructor(records: Records, keys: KeyRing) {
    this.#records = records
    this.#keys = keys
    this.#version = oncePerTurn(() => records.version())
  }

  async open({ actor, scopes }: Identity): Promise<string> {
    const value = randomBytes(32).toString('base64url')
    const at = this.#records.now()
    const row: AdminSessionRow = {
      id: digestOf(value),
      client_id: actor,
      scopes: scopes.join(' '),
      kid: (await this.#keys.current()).kid,
      created_at: at,
      expires_at: at + lifetime,
    }
    await insert(this.#records, row).catch(unless(['STORE_FULL'], () => this.#unsaved.set(row.id, row)))
    return value
  }

  async close(value: string): Promise<void> {
    if (!valuePattern.test(value)) return
    const id = digestOf(value)
    // A logout can be repeated.
    if (this.#deleting.has(id)) return
    // Anyone can send a value: only that of a session changes anything.
    const isKnown = this.#known.has(id) || this.#unsaved.has(id)
    if (!isKnown && (await this.#find(id)) === undefined) return
    this.#closed.set(id, true)
    this.#known.delete(id)
    this.#unsaved.delete(id)
    await this.#delete(id).catch(unless(passing, () => void this.#deleteLater(id)))
  }

  #find(id: string): Promise<AdminSessionRow | undefined> {
    return this.#records.db.selectFrom('admin_sessions').selectAll().where('id', '=', id).executeTakeFirst()
  }

  async #delete(id: string): Promise<void> {
    await this.#records.db.deleteFrom('admin_sessions').where('id', '=', id).execute()
  }

  /** Retries until the records can be written again. Until then, other processes accept the session if they can read it. */
  async #deleteLater(id: string): Promise<void> {
    if (this.#deleting.has(id)) return
    this.#deleting.add(id)
    for (let isPending = true; isPending;) {
      await sleep(deleteInterval, null, { ref: false })
      isPending = await this.#delete(id).then(
        () => false,
        // Any other error means that the records are closed because the process is ending.
        (error: unknown) => hasCode(error, passing),
      )
    }
    this.#deleting.delete(id)
  }

  judge(value: string): Judgement | Promise<Judgement> {
    if (!valuePattern.test(value)) return endedSession
    const id = digestOf(value)
    if (this.#closed.has(id)) return endedSession
    const known = this.#known.get(id)
    if (known === undefined || known.version !== this.#version()) return this.#judgeAgain(id)
    const { row, judgement } = known
    return this.#isOver(row) || !this.#keys.has(row.kid) ? endedSession : judgement
  }

  async #judgeAgain(id: string): Promise<Judgement> {
    const version = this.#records.version()
    const row = (await this.#find(id)) ?? this.#unsaved.get(id)
    const isValid = row !== undefined && !this.#isOver(row) && (await this.#keys.find(row.kid)) !== null
    const client = isValid ? await findActiveClient(this.#records, row.client_id) : null
    if (row === undefined || client === null) {
      this.#known.delete(id)
      return endedSession
    }
    const granted = row.scopes.split(' ')
    const scopes: Scope[] = client.scopes.filter((scope) => granted.includes(scope))
    const judgement: Judgement = { kind: 'accepted', actor: client.id, scopes }
    this.#known.set(id, { row, judgement, version })
    return judgement
  }

  #isOver({ expires_at: end }: AdminSessionRow): boolean {
    return this.#records.now() >= end
  }
}

/** Saves a session in place of those of its client that have expired or are too many. */
async function insert({ db }: Records, row: AdminSessionRow): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom('admin_sessions').where('expires_at', '<=', row.created_at).execute()
    const older = await transaction
      .selectFrom('admin_sessions')
      .select('id')
      .where('client_id', '=', row.client_id)
      .orderBy('created_at', 'desc')
      .execute()
    const surplus = older.slice(maxPerClient - 1).map(({ id }) => id)
    if (surplus.length > 0) await transaction.deleteFrom('admin_sessions').where('id', 'in', surplus).execute()
    await transaction.insertInto('admin_sessions').values(row).execute()
  })
}

/** Handles errors with one of these codes, and throws any other. */
function unless(codes: readonly ErrorCode[], handle: () => void): (error: unknown) => void {
  return (error) => {
    if (!hasCode(error, codes)) throw error
    handle()
  }
}

function hasCode(error: unknown, codes: readonly ErrorCode[]): boolean {
  return error instanceof PagecacheError && codes.includes(error.code)
}

/** Sessions where the shop issues the tokens: the cookie has the token, so that a session lasts as long as the shop accepts it. */
export class ShopSessions implements SessionStore {
  readonly lifetime = null
  readonly #shop: Judge

  constructor(shop: Judge) {
    this.#shop = shop
  }

  open(_: Identity, token: string): Promise<string> {
    return Promise.resolve(token)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  judge(value: string, presenter: Presenter): Judgement | Promise<Judgement> {
    return this.#shop.judge(value, presenter)
  }
}

function digestOf(value: string): string {
  return hash('sha256', value, 'base64url')
}
