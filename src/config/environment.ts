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
