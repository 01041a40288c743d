/** What each exit code means; shown by `help exit-codes` and in docs/commands.md. */
export const exitCodeMeanings: Readonly<Record<number, string>> = {
  0: 'success; also after a declined confirmation, which changes nothing',
  1: 'failure; also no result within --timeout',
  2: 'wrong usage or configuration',
  3: 'target not found, or in the wrong state',
  4: 'not authorised: the daemon rejected the client or its scope',
  5: 'unreachable: the daemon, the records or the page store',
  130: 'interrupted',
}

/** The exit codes of commands. */
export const exitCodes = {
  usual: [0, 1, 2, 4, 5, 130],
  /** Commands that act on a target that may be missing or in the wrong state. */
  withTarget: [0, 1, 2, 3, 4, 5, 130],
  /** Commands that contact no daemon and start without the database. */
  local: [0, 1, 2, 130],
} as const
