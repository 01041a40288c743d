import type {
  Ledger,
  Member,
  MemberDescription,
  MembersRead,
  MemberWrite,
  Purge,
  PurgesRead,
} from '../../src/cluster/ledger.ts'
import { readLimit } from '../../src/cluster/protocol.ts'
import type { Removal } from '../../src/cluster/removal.ts'
import type { Proc, World } from './world.ts'

export interface DatabaseOptions {
  /** Longest delay of a message, in milliseconds. */
  delay: number
  /** Share of messages that are lost or very late. */
  loss: number
  /** Marks members as gone after this time, and deletes purges that all others have applied (milliseconds). */
  goneAfter: number
  /** Numbers come from a sequence, as those of PostgreSQL, instead of a counter row: commits are in another order. */
  sequence: boolean
}

interface State {
  identity: string
  settled: string
  last: number
  floor: number
  purges: Purge[]
  members: Map<string, Member & { markedAt: number }>
}

/** How long a caller waits for an answer, in milliseconds. */
const timeout = 700

/** A database that commits one transaction after the other, behind a network that delays and loses messages. */
export class Database {
  isDown = false
  #state: State = { identity: 'first', settled: 'first', last: 0, floor: 0, purges: [], members: new Map() }
  #allocated = 0
  #histories = 1
  readonly #world: World
  readonly #options: DatabaseOptions
  /** Called after the commit of a purge. */
  onPurge = () => {}

  constructor(world: World, options: DatabaseOptions) {
    this.#world = world
    this.#options = options
  }

  ledgerOf(proc: Proc): Ledger & {
    append(store: string, removals: readonly Removal[]): Promise<{ number: number; identity: string }>
  } {
    const call = <T>(work: () => T) => this.#call(proc, work)
    return {
      read: (after) => call(() => this.#read(after)),
      join: (member) => call(() => this.#join(member)),
      renew: (write) => call(() => this.#renew(write)),
      admit: (write) => call(() => this.#admit(write)),
      members: () => call(() => this.#members()),
      settle: (identity) =>
        call(() => {
          if (identity === this.#state.identity) this.#state.settled = identity
        }),
      suspect: (id, renewal) => call(() => this.#suspect(id, renewal)),
      leave: (id, renewal) =>
        call(() => {
          if ((this.#state.members.get(id)?.renewal ?? Infinity) < renewal) this.#state.members.delete(id)
        }),
      append: (store, removals) => this.#append(proc, { store, removals }),
    }
  }

  /** Carries out `work` at one moment between the call and its answer, or never, or late. */
  #call<T>(proc: Proc, work: () => T): Promise<T> {
    const { loss } = this.#options
    const delay = Math.max(0.2, this.#options.delay * proc.latency)
    const world = this.#world
    return new Promise((resolve, reject) => {
      const fail = (reason: string) => proc.deliver(() => reject(new Error(reason)))
      world.after(timeout, () => fail('timeout'))
      if (proc.isCut || world.chance(loss)) return
      const late = world.chance(loss) ? world.between(0, 3000) : 0
      world.after(world.between(0.1, delay) + late, () => {
        if (this.isDown) return fail('down')
        const result = work()
        if (proc.isCut || world.chance(loss)) return
        world.after(world.between(0.1, delay), () => proc.isCut || proc.deliver(() => resolve(result)))
      })
    })
  }

  #append(proc: Proc, purge: Omit<Purge, 'number'>): Promise<{ number: number; identity: string }> {
    if (!this.#options.sequence) return this.#call(proc, () => this.#commit({ ...purge, number: this.#state.last + 1 }))
    const number = (this.#allocated += 1)
    return this.#call(proc, () => this.#commit({ ...purge, number }))
  }

  #commit(purge: Purge): { number: number; identity: string } {
    const state = this.#state
    state.purges.push(purge)
    state.last = Math.max(state.last, purge.number)
    this.onPurge()
    return { number: purge.number, identity: state.identity }
  }

  #read(after: number): PurgesRead {
    const { identity, last, floor, purges } = this.#state
    const found = purges.filter(({ number }) => number > after).slice(0, readLimit)
    return {
      identity,
      last,
      floor,
      question: 0,
      purges: this.#options.sequence ? found.sort((a, b) => a.number - b.number) : found,
    }
  }

  #join(member: MemberDescription & MemberWrite): void {
    const { identity } = member
    const known = this.#state.members.get(member.id)
    if (identity !== this.#state.identity || (known !== undefined && known.renewal >= member.renewal)) return
    // Earlier processes of its node have ended.
    const start = (id: string) => Number(id.split('.').at(-1))
    for (const other of [...this.#state.members.values()])
      if (other.node === member.node && start(other.id) < start(member.id)) this.#state.members.delete(other.id)
    const registered = { ...member, state: 'joining', suspectFor: 0, isReplaced: false } as const
    this.#state.members.set(member.id, { ...registered, markedAt: this.#world.now })
  }

  /** The row of a member if the write follows the last one that the member knows of. */
  #find({ id, identity, confirmed, renewal }: MemberWrite) {
    const member = this.#state.members.get(id)
    if (identity !== this.#state.identity || member === undefined) return null
    return member.renewal >= confirmed && member.renewal < renewal ? member : null
  }

  #renew(write: MemberWrite): 'renewed' | 'suspect' | 'lost' {
    const member = this.#find(write)
    if (member === null) return 'lost'
    if (member.state !== 'live') return 'suspect'
    member.position = write.position
    member.renewal = write.renewal
    return 'renewed'
  }

  #admit(write: MemberWrite): { barrier: number } | 'lost' {
    const member = this.#find(write)
    if (member === null) return 'lost'
    member.state = 'live'
    member.position = write.position
    member.renewal = write.renewal
    return { barrier: this.#state.last }
  }

  #members(): MembersRead {
    const { identity, settled, members } = this.#state
    const list = [...members.values()].map(({ markedAt, ...member }) => ({
      ...member,
      suspectFor: member.state === 'suspect' ? this.#world.now - markedAt : 0,
    }))
    return { identity, isSettled: settled === identity, members: list }
  }

  #suspect(id: string, renewal: number): boolean {
    const member = this.#state.members.get(id)
    if (member?.state !== 'live' || member.renewal !== renewal) return false
    member.state = 'suspect'
    member.markedAt = this.#world.now
    return true
  }

  /** Gives up members that were suspect for long, and deletes purges that no other one needs. */
  prune(): void {
    const state = this.#state
    for (const member of state.members.values()) {
      const isSilent = member.state === 'suspect' || member.state === 'joining'
      if (isSilent && this.#world.now - member.markedAt > this.#options.goneAfter) member.state = 'gone'
    }
    const needed = [...state.members.values()].filter((member) => member.state !== 'gone')
    state.floor = Math.max(state.floor, Math.min(state.last, ...needed.map(({ position }) => position)))
    state.purges = state.purges.filter(({ number }) => number > state.floor)
  }

  /** Another server takes over after `lag` milliseconds, without what is committed from now on. */
  failOver(lag: number): void {
    const kept = structuredClone(this.#state)
    this.#world.after(lag, () => {
      this.#state = { ...kept, identity: `history ${(this.#histories += 1)}` }
    })
  }
}
