import * as z from 'zod/mini'
import { chooseProfile, chosenProfile } from '../config/chosen-profile.ts'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { described, flag, success, succeeded, text } from './fields.ts'
import { defineOperation } from './operation.ts'

export const useProfile = defineOperation({
  name: 'profile.use',
  summary: 'Chooses the daemon on which the commands of this user run in this project',
  input: z.object({
    name: described(z.optional(text('expected the name of a profile')), 'absent: nothing is changed'),
    here: described(flag, 'run on this machine again'),
  }),
  output: z.object({
    success,
    profile: described(z.nullable(z.string()), 'the chosen one; null: this machine'),
    profiles: z.array(z.object({ name: z.string(), server: z.string() })),
  }),
  /** @throws NOT_FOUND for an unknown profile */
  async run({ app }, { name, here }) {
    const { projectDir } = app.loaded.places
    const profiles = Object.entries(app.config.profiles).map(([each, { server }]) => ({ name: each, server }))
    const known = profiles.map((profile) => profile.name)
    if (name !== undefined && !known.includes(name)) throw unknownProfile(name, known)
    if (name !== undefined || here) await choose(projectDir, here ? null : (name ?? null))
    return { ...succeeded, profile: chosenProfile(projectDir), profiles }
  },
})

async function choose(projectDir: string, name: string | null): Promise<void> {
  await chooseProfile(projectDir, name).catch((error: unknown) => {
    throw new PagecacheError('CHECK_FAILED', `Could not remember the profile: ${(error as Error).message}`, {
      cause: error,
    })
  })
}

function unknownProfile(name: string, known: readonly string[]): PagecacheError {
  const guess = closest(name, known)
  const others = known.length === 0 ? 'Define it under profiles in pagecache.yaml.' : `Profiles: ${known.join(', ')}.`
  return new PagecacheError('NOT_FOUND', `There is no profile ${name}.`, {
    hint: guess === null ? others : `Did you mean ${guess}?`,
  })
}
