import * as Flags from '@oclif/core/flags'
import type { OutputFlags } from '@oclif/core/interfaces'
import { entrances, givenFields, positions, schemes } from '../operations/stage-fields.ts'

/** Flags for the appearance of a stage and for what opens it. */
export const stageLookFlags = {
  position: Flags.option({
    options: positions,
    summary: 'Place in the window; the page stays usable behind corner and bar.',
    helpValue: '<position>',
  })(),
  scheme: Flags.option({
    options: schemes,
    summary: "Light or dark; auto: as the visitor's system.",
    helpValue: '<scheme>',
  })(),
  entrance: Flags.option({
    options: entrances,
    summary: 'Animation on opening, except for visitors who prefer reduced motion.',
    helpValue: '<entrance>',
  })(),
  accent: Flags.string({
    summary: "Colour of the button; none: the shop's.",
    helpValue: '<#rrggbb>|none',
  }),
  font: Flags.string({ summary: "CSS font families; none: the shop's.", helpValue: '<families>|none' }),
  image: Flags.string({
    summary: 'Path of an image on the shop, or its URL; none: no image.',
    helpValue: '<path>|none',
  }),
  'image-alt': Flags.string({ summary: 'Text alternative of the image; "": decorative.', helpValue: '<text>' }),
  'open-after': Flags.string({ summary: 'Open after this many seconds on the page.', helpValue: '<seconds>|none' }),
  'open-at-scroll': Flags.string({
    summary: 'Open when this percentage of the page is scrolled.',
    helpValue: '<percent>|none',
  }),
  'exit-intent': Flags.boolean({ summary: 'Open when the pointer leaves the window at its top.', allowNo: true }),
}

/** Flags of fields that cannot be derived from the field's name. */
export const stageLookNames = {
  ...Object.fromEntries(
    ['position', 'scheme', 'entrance', 'accent', 'font', 'image'].map((name) => [`look.${name}`, `--${name}`]),
  ),
  'look.imageAlt': '--image-alt',
  'trigger.delay': '--open-after',
  'trigger.scroll': '--open-at-scroll',
  'trigger.exitIntent': '--exit-intent',
}

export type StageLookFlags = Partial<OutputFlags<typeof stageLookFlags>>

/** Converts flags to the fields `look` and `trigger`, without those not given. */
export function lookInput(flags: StageLookFlags) {
  const { accent, font, image, position, entrance, scheme } = flags
  return {
    look: givenOrNothing({
      accent: orNull(accent),
      font: orNull(font),
      image: orNull(image),
      imageAlt: flags['image-alt'],
      position,
      entrance,
      scheme,
    }),
    trigger: givenOrNothing({
      delay: toNumber(flags['open-after']),
      scroll: toNumber(flags['open-at-scroll']),
      exitIntent: flags['exit-intent'],
    }),
  }
}

function givenOrNothing<Fields extends object>(fields: Fields) {
  const given = givenFields(fields)
  return Object.keys(given).length === 0 ? undefined : given
}

/** `none` as null. */
export function orNull(value: string | undefined): string | null | undefined {
  return value === 'none' ? null : value
}

/** `none` as null, anything else as a number; the operation rejects what is none. */
export function toNumber(value: string | undefined): number | null | undefined {
  if (value === undefined) return undefined
  return value === 'none' ? null : Number(value)
}
