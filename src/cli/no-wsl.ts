/**
 * Replaces `wsl-utils` in the bundle. oclif detects WSL at every start for a user agent that pagecache never sends, which takes a
 * tenth of a short command's time.
 */
export const isWsl = false
