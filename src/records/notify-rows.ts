/** The table of notified problems. */
export interface NotifyTables {
  notified_problems: NotifiedProblemRow
}

export interface NotifiedProblemRow {
  event: string
  /** What has the problem: a proxy, a sales channel, a machine. Empty where there is only one. */
  subject: string
  /** Tells two problems of one subject apart, such as two failed warmups. Empty where they are the same problem. */
  occurrence: string
  title: string
  /** Milliseconds since the epoch. */
  since: number
}
