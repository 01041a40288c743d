/**
 * The exit codes of commands: 0 success, 1 failure, 2 wrong usage or configuration, 3 no such target or wrong state, 4 not
 * authorised (token, scope), 5 unreachable (daemon, database), 130 interrupted.
 */
export const exitCodes = {
  usual: [0, 1, 2, 4, 5, 130],
  /** Commands that act on a target that may be missing or in the wrong state. */
  withTarget: [0, 1, 2, 3, 4, 5, 130],
  /** Commands that contact no daemon and start without the database. */
  local: [0, 1, 2, 130],
} as const
