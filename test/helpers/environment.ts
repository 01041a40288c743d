export interface CommandResult {
  code: number | null
  stdout: string
  stderr: string
}

/** The caller's environment without the variables that would change the program's behaviour. */
export function environment(projectDir: string, extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(PAGECACHE_|APP_ENV$|NODE_OPTIONS$)/.test(name))
  return {
    ...Object.fromEntries(inherited),
    NO_COLOR: '1',
    PAGECACHE_PROJECT_DIR: projectDir,
    ...recordsVariable(),
    ...extra,
  }
}

/** The variable with which the running test's programs use its PostgreSQL database; none in the project `sqlite`. */
export function recordsVariable(): Record<string, string> {
  const url = process.env['PAGECACHE_RECORDS_URL']
  return url === undefined ? {} : { PAGECACHE_RECORDS_URL: url }
}
