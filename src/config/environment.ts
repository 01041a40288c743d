/** The environment variables of a process, as a value. Only this room reads `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>

export function processVariables(): Variables {
  return process.env
}

/** Whether a terminal may be coloured: https://no-color.org, and TERM=dumb knows no colours. */
export function allowsColor(variables: Variables = processVariables()): boolean {
  return !variables['NO_COLOR'] && variables['TERM'] !== 'dumb'
}

/** True in a build pipeline: nobody watches, nobody answers. */
export function isContinuousIntegration(variables: Variables = processVariables()): boolean {
  return Boolean(variables['CI'])
}

/** Ink's own switch for screen readers: they want lines, and no screen that is drawn again and again. */
export function wantsScreenReader(variables: Variables = processVariables()): boolean {
  return variables['INK_SCREEN_READER'] === 'true'
}

/** True where the locale names a character set that has no block characters; a terminal without a locale is taken for a modern one. */
export function lacksUnicode(variables: Variables = processVariables()): boolean {
  const locale = variables['LC_ALL'] || variables['LC_CTYPE'] || variables['LANG'] || ''
  return locale !== '' && !/utf-?8/i.test(locale)
}

/** Tells the libraries that colour texts to leave it; to be called before any of them is imported, since they look only then. */
export function forbidColor(): void {
  process.env['FORCE_COLOR'] = '0'
}

/** How many open sockets this process was handed, as systemd does it (sd_listen_fds(3)): the variables name the process that they are for. */
export function inheritedSockets(pid: number, variables: Variables = processVariables()): number {
  return variables['LISTEN_PID'] === String(pid) ? Number(variables['LISTEN_FDS'] ?? 0) : 0
}
