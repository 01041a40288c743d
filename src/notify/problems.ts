import { randomUUID } from 'node:crypto'
import { dispatch } from '../queue/dispatch.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import type { NotifiedProblemRow } from '../records/notify-rows.ts'
import { messagesFor, type Notification, type NotifyEvent, type Webhook } from './notification.ts'

/** A problem that was found. */
export interface Problem {
  event: NotifyEvent
  subject: string
  /** Tells two problems of one subject apart. */
  occurrence?: string
  title: string
  text: string
}

/** What a check has found out about one event. */
export interface Finding {
  event: NotifyEvent
  /** Problems to notify of, unless that was done. */
  problems: readonly Problem[]
  /** Whether a problem that was notified of still exists. A check with two thresholds is true in between, so that a value near one is not reported again and again. */
  persists(problem: Readonly<NotifiedProblemRow>): boolean
}

export interface NotifierOptions {
  db: RecordsDatabase
  webhooks: readonly Webhook[]
  environment: string
  /** Milliseconds since the epoch. */
  now(): number
}

/** Turns problems into notifications: one when a problem begins and one when it has passed, whichever process notices it. */
export class Notifier {
  readonly #options: NotifierOptions

  constructor(options: NotifierOptions) {
    this.#options = options
  }

  /** Notifies of new problems and of those that have passed. Returns how many notifications were queued. */
  report(findings: readonly Finding[]): Promise<number> {
    return this.#options.db.transaction().execute(async (transaction) => {
      const known = await transaction.selectFrom('notified_problems').selectAll().execute()
      let queued = 0
      for (const { event, problems, persists } of findings) {
        const before = known.filter((row) => row.event === event)
        for (const problem of problems) {
          const same = before.find(({ subject }) => subject === problem.subject)
          if (same === undefined || same.occurrence !== (problem.occurrence ?? ''))
            queued += await this.#begin(transaction, problem)
        }
        for (const row of before) {
          const isFound = problems.some(({ subject }) => subject === row.subject)
          if (!isFound && !persists(row)) queued += await this.#end(transaction, row)
        }
      }
      return queued
    })
  }

  /** Notifies of one problem, unless it is known. */
  raise(problem: Problem): Promise<number> {
    return this.report([{ event: problem.event, problems: [problem], persists: () => true }])
  }

  async #begin(transaction: RecordsTransaction, problem: Problem): Promise<number> {
    const { event, subject, occurrence = '', title, text } = problem
    const row = { event, subject, occurrence, title, since: this.#options.now() }
    await transaction
      .insertInto('notified_problems')
      .values(row)
      .onConflict((conflict) => conflict.columns(['event', 'subject']).doUpdateSet(row))
      .execute()
    return this.#send(transaction, { event, subject, state: 'problem', title, text })
  }

  async #end(transaction: RecordsTransaction, { event, subject, title, since }: NotifiedProblemRow): Promise<number> {
    await transaction
      .deleteFrom('notified_problems')
      .where('event', '=', event)
      .where('subject', '=', subject)
      .execute()
    const text = `The problem reported at ${new Date(Number(since)).toISOString()} has passed.`
    const recovered = { subject, state: 'recovered', title: `Recovered: ${title}`, text } as const
    return this.#send(transaction, { event: event as NotifyEvent, ...recovered })
  }

  #send(transaction: RecordsTransaction, content: Omit<Notification, 'id' | 'at' | 'environment'>): Promise<number> {
    const { environment, webhooks, now } = this.#options
    return dispatch(transaction, now(), messagesFor(webhooks, toNotification(content, environment, now())))
  }
}

/** @param now milliseconds since the epoch */
export function toNotification(
  content: Omit<Notification, 'id' | 'at' | 'environment'>,
  environment: string,
  now: number,
): Notification {
  return { id: randomUUID(), at: new Date(now).toISOString(), environment, ...content }
}
