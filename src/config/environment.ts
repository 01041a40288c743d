/** The environment variables of a process. Only this module reads `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>

export function processVariables(): Variables {
  return process.env
}

/** False with NO_COLOR (https://no-color.org), TERM=dumb and after `forbidColor`. */
export function allowsColor(variables: Variables = processVariables()): boolean {
  return !variables['NO_COLOR'] && variables['FORCE_COLOR'] !== '0' && variables['TERM'] !== 'dumb'
}

/** True in a build pipeline, where output must not be animated or interactive. */
export function isContinuousIntegration(variables: Variables = processVariables()): boolean {
  return Boolean(variables['CI'])
}

/** Ink's switch for screen readers, which need lines instead of a redrawn screen. */
export function wantsScreenReader(variables: Variables = processVariables()): boolean {
  return variables['INK_SCREEN_READER'] === 'true'
}

/** True if the locale names a character set without block characters. Without a locale, UTF-8 is assumed. */
export function lacksUnicode(variables: Variables = processVariables()): boolean {
  const locale = variables['LC_ALL'] || variables['LC_CTYPE'] || variables['LANG'] || ''
  return locale !== '' && !/utf-?8/i.test(locale)
}

/** Disables colours in libraries. Must be called before they are imported, because they check only once. */
export function forbidColor(): void {
  process.env['FORCE_COLOR'] = '0'
}

/** Number of sockets passed by systemd (sd_listen_fds(3)). LISTEN_PID names the process they are meant for. */
export function inheritedSockets(pid: number, variables: Variables = processVariables()): number {
  return variables['LISTEN_PID'] === String(pid) ? Number(variables['LISTEN_FDS'] ?? 0) : 0
}
