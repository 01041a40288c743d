/**
 * Stands in for `wsl-utils` in the bundle. oclif asks it at every start whether Linux runs inside Windows, to put
 * that into its user agent, which nothing here sends; finding out costs a tenth of a short command.
 */
export const isWsl = false
