import { existsSync } from 'node:fs'
import type { App } from '../app.ts'
import { listPages, listTags } from '../operations/cache.ts'
import { showConfig } from '../operations/config.ts'
import { listFailedMessages } from '../operations/messenger.ts'
import type { Performer } from '../operations/operation.ts'
import { listScheduledTasks } from '../operations/scheduled-task.ts'
import { listWarmups } from '../operations/warmup.ts'
import { printable } from '../lib/safe-text.ts'
import { readChannels } from './channels.ts'
import type { ValueKind } from './completable.ts'
import { clientKind, stageKind, type Named } from './find.ts'

/** A value to offer, and what it stands for. */
export interface Offer {
  value: string
  description: string
}

/** Values offered at once; more would not help to choose. */
const most = 200

const page = { limit: most, offset: 0 }

/** By its name where that can be typed as one word, because ids say nothing. */
function named({ id, name }: Named): Offer {
  return name !== null && isSafe(name) ? { value: name, description: id } : { value: id, description: name ?? '' }
}

const readers: Readonly<Record<ValueKind, (performer: Performer, beginning: string) => Promise<readonly Offer[]>>> = {
  warmups: async (performer) =>
    (await performer.perform(listWarmups, page)).items.map(({ id, status, created_at }) => ({
      value: id,
      description: `${status}, ${created_at}`,
    })),
  stages: async (performer) => (await stageKind.read(performer)).map(named),
  clients: async (performer) => (await clientKind.read(performer)).map(named),
  messages: async (performer) =>
    (await performer.perform(listFailedMessages, page)).items.map(({ id, type }) => ({ value: id, description: type })),
  tasks: async (performer) =>
    (await performer.perform(listScheduledTasks, {})).items.map(({ name, status }) => ({
      value: name,
      description: status,
    })),
  tags: async (performer, beginning) =>
    (await performer.perform(listTags, { beginning, limit: most })).items.map((value) => ({ value, description: '' })),
  urls: async (performer, beginning) =>
    (await performer.perform(listPages, { ...page, ...(beginning !== '' && { prefix: beginning }) })).items.map(
      ({ url, type }) => ({ value: url, description: type }),
    ),
  channels: async (performer) =>
    (await readChannels(performer)).map(({ id, url }) => ({ value: id, description: url })),
  profiles: async (performer) =>
    (await performer.perform(showConfig, {})).values.flatMap(({ key, value }) => {
      const name = /^profiles\.(.+)\.server$/.exec(key)?.[1]
      return name === undefined ? [] : [{ value: name, description: String(value) }]
    }),
}

/** The values of a kind that begin with a text. Reads what is there, and creates nothing. */
export async function completeValues(
  { performer, app }: { performer: Performer; app: App | null },
  kind: ValueKind,
  beginning: string,
): Promise<Offer[]> {
  const { cacheDir, dataDir } = app?.loaded.places ?? {}
  const place = kind === 'tags' || kind === 'urls' ? cacheDir : dataDir
  const isConfig = kind === 'channels' || kind === 'profiles'
  if (place !== undefined && !isConfig && !existsSync(place)) return []
  const offers = await readers[kind](performer, beginning)
  return (
    offers
      .filter(({ value }) => isSafe(value) && value.startsWith(beginning))
      .slice(0, most)
      // A line break in what a daemon says would begin another value.
      .map(({ value, description }) => ({ value, description: printable(description) }))
  )
}

/**
 * Tags and URLs come from the shop and from visitors, and bash expands the words that it is offered: `$(…)` in one would be executed at
 * a press of Tab. So only harmless characters are offered.
 */
function isSafe(value: string): boolean {
  return /^[\w.:/@%+,=-]+$/.test(value) && !value.startsWith('-')
}
