/**
 * What a command can end with: 0 done, 1 failed, 2 wrong usage or configuration, 3 nothing to act on or wrong state, 4 not allowed
 * (token, scope), 5 unreachable (daemon, database), 130 interrupted.
 */
export const exitCodes = {
  usual: [0, 1, 2, 4, 5, 130],
  /** Of commands that name what they act on. */
  ofOne: [0, 1, 2, 3, 4, 5, 130],
  /** Of commands that speak to no daemon and start without the records. */
  local: [0, 1, 2, 130],
} as const
