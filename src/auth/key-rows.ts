import type { Records } from '../records/open.ts'
import { KeyRing, parseKey, type KeyRingOptions, type SigningKey } from './key-ring.ts'

/** Signing keys in the records, for the daemons of several machines. */
export class KeyRows extends KeyRing {
  readonly #records: Records
  #parsed = new Map<string, SigningKey>()

  constructor(records: Records, options: Pick<KeyRingOptions, 'lifetime'>) {
    super({ ...options, now: () => records.now() })
    this.#records = records
  }

  protected override async refresh(): Promise<void> {
    const rows = await this.#records.db.selectFrom('signing_keys').selectAll().orderBy('number').execute()
    const known = this.#parsed
    this.#parsed = new Map(
      rows.map(({ number, content }) => [content, known.get(content) ?? parseKey(content, `Signing key ${number}`)]),
    )
    this.keys = rows.map(({ number, content }) => ({ number, key: this.#parsed.get(content)! }))
  }

  protected override async save(number: number, content: string): Promise<void> {
    await this.#records.db
      .insertInto('signing_keys')
      .values({ number, content })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }

  protected override async remove(numbers: readonly number[]): Promise<void> {
    if (numbers.length === 0) return
    await this.#records.db.deleteFrom('signing_keys').where('number', 'in', numbers).execute()
  }
}
