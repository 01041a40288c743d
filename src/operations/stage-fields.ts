import * as z from 'zod/mini'
import { defaultLook, defaultTrigger, entrances, positions, schemes } from '../stages/look.ts'
import { ctaActions, frequencies } from '../stages/stage.ts'
import { described, id, integer } from './fields.ts'

export { ctaActions, entrances, frequencies, positions, schemes }

/** A single line of at most `most` characters. */
function line(most: number, expected = `expected a text of at most ${most} characters`) {
  return z
    .string({ error: expected })
    .check(z.maxLength(most, { error: expected }), z.regex(/^[^\u0000-\u001f\u007f]*$/, { error: expected }))
}

function prose(most: number) {
  const expected = `expected a text of at most ${most} characters`
  return z.string({ error: expected }).check(z.maxLength(most, { error: expected }))
}

const yesOrNo = z.boolean({ error: 'expected true or false' })
const nameError = 'expected a name of 1 to 200 characters, without control characters'
export const stageName = line(200, nameError).check(z.minLength(1, { error: nameError }))
/** Text of a button, also read by screen readers, so it must not be empty. */
const label = line(100).check(z.minLength(1, { error: 'expected a label' }))
const callToAction = z.object(
  {
    label,
    action: z._default(z.enum(ctaActions, { error: `expected one of ${ctaActions.join(', ')}` }), 'url'),
    url: z._default(z.nullable(line(2048)), null),
    selector: z._default(z.nullable(line(200)), null),
  },
  { error: 'expected label, action, url, selector' },
)

/** Content fields without defaults, as a change sets them individually. */
const content = {
  headline: line(200),
  html: z.nullable(prose(65_536)),
  text: z.nullable(prose(10_000)),
  callToAction: z.nullable(callToAction),
  dismissLabel: z.nullable(label),
  closeLabel: label,
}

const moment = z.nullable(line(40, 'expected a time such as 2026-12-01T00:00+01:00, or null'))

function oneOf<const Words extends readonly string[]>(words: Words) {
  return z.enum(words, { error: `expected one of ${words.join(', ')}` })
}

/** Fields of the appearance without defaults. */
const look = {
  accent: described(z.nullable(line(7)), "colour of the button, #rrggbb; null: the shop's --vendor-stage-accent"),
  font: described(z.nullable(line(300)), "CSS font families; null: the shop's --vendor-stage-font"),
  image: described(z.nullable(line(2048)), 'path on the shop, or absolute URL; null: none'),
  imageAlt: described(line(300), 'text alternative; empty for a decorative image'),
  position: oneOf(positions),
  entrance: described(oneOf(entrances), 'none for visitors who prefer reduced motion'),
  scheme: described(oneOf(schemes), "auto: as the visitor's system"),
}

const trigger = {
  delay: described(z.nullable(integer(1, 3600)), 'seconds on the page; null: not a trigger'),
  scroll: described(z.nullable(integer(1, 100)), 'percentage of the page scrolled; null: not a trigger'),
  exitIntent: described(yesOrNo, 'the pointer leaves the window at its top'),
}
const lookNames = `expected ${Object.keys(look).join(', ')}`
const triggerNames = `expected ${Object.keys(trigger).join(', ')}`

const settings = {
  from: described(moment, 'not shown before; ISO 8601 with a time zone, answered in UTC; null: no limit'),
  until: described(moment, 'not shown from then on; ISO 8601 with a time zone, answered in UTC; null: no limit'),
  name: stageName,
  statsEnabled: yesOrNo,
  retentionDays: described(integer(0, 36_500), 'retention of events in days; 0: unlimited'),
  maxPerSession: described(z.nullable(integer(1, 1_000_000)), 'max views per session; null: unlimited'),
  frequency: z.enum(frequencies, { error: `expected one of ${frequencies.join(', ')}` }),
  salesChannelId: described(z.nullable(id('expected the id of a sales channel, or null')), 'null: all'),
  active: yesOrNo,
  pageTypes: described(
    z
      .array(line(64).check(z.minLength(1, { error: 'expected the name of a page type' })), {
        error: 'expected a list of page types',
      })
      .check(z.maxLength(50, { error: 'expected at most 50 page types' })),
    'empty: all pages',
  ),
}

/** Input of a new stage; only the name is required. */
export const stageSettings = z.object({
  name: settings.name,
  statsEnabled: z._default(settings.statsEnabled, true),
  retentionDays: z._default(settings.retentionDays, 90),
  maxPerSession: z._default(settings.maxPerSession, null),
  frequency: z._default(settings.frequency, 'always'),
  salesChannelId: z._default(settings.salesChannelId, null),
  active: z._default(settings.active, true),
  pageTypes: z._default(settings.pageTypes, []),
  from: z._default(settings.from, null),
  until: z._default(settings.until, null),
  look: z.prefault(
    z.object(
      {
        accent: z._default(look.accent, defaultLook.accent),
        font: z._default(look.font, defaultLook.font),
        image: z._default(look.image, defaultLook.image),
        imageAlt: z._default(look.imageAlt, defaultLook.imageAlt),
        position: z._default(look.position, defaultLook.position),
        entrance: z._default(look.entrance, defaultLook.entrance),
        scheme: z._default(look.scheme, defaultLook.scheme),
      },
      { error: lookNames },
    ),
    {},
  ),
  trigger: z.prefault(
    z.object(
      {
        delay: z._default(trigger.delay, defaultTrigger.delay),
        scroll: z._default(trigger.scroll, defaultTrigger.scroll),
        exitIntent: z._default(trigger.exitIntent, defaultTrigger.exitIntent),
      },
      { error: triggerNames },
    ),
    {},
  ),
  content: z.prefault(
    z.object(
      {
        headline: z._default(content.headline, ''),
        html: z._default(content.html, null),
        text: z._default(content.text, null),
        callToAction: z._default(content.callToAction, null),
        dismissLabel: z._default(content.dismissLabel, null),
        closeLabel: z._default(content.closeLabel, 'Close'),
      },
      { error: 'expected headline, html or text, callToAction, dismissLabel, closeLabel' },
    ),
    {},
  ),
})

/** Input of a change; every field is optional. */
export const stageChange = z.partial(
  z.object({
    ...settings,
    content: z.partial(
      z.object(content, { error: 'expected headline, html, text, callToAction, dismissLabel or closeLabel' }),
    ),
    look: z.partial(z.object(look, { error: lookNames })),
    trigger: z.partial(z.object(trigger, { error: triggerNames })),
  }),
)

export const stageValue = z.object({
  id: z.string(),
  ...settings,
  content: z.object({
    ...content,
    callToAction: z.nullable(
      z.object({
        label: z.string(),
        action: z.enum(ctaActions),
        url: z.nullable(z.string()),
        selector: z.nullable(z.string()),
      }),
    ),
  }),
  look: z.object(look),
  trigger: z.object(trigger),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
})

/** Removes fields whose value is `undefined`, so that spreading the result does not overwrite existing values. */
export function givenFields<T extends object>(fields: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>
  }
}
