import * as z from 'zod/mini'
import { ctaActions, frequencies } from '../stages/stage.ts'
import { described, id, integer } from './fields.ts'

export { ctaActions, frequencies }

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
const named = line(200, 'expected a name of 1 to 200 characters').check(
  z.minLength(1, { error: 'expected a name of 1 to 200 characters' }),
)
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

const settings = {
  name: named,
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
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
})

/** Removes fields whose value is `undefined`, so that spreading the result does not overwrite existing values. */
export function givenFields<T extends object>(fields: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>
  }
}
