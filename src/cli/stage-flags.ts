import { readFile } from 'node:fs/promises'
import * as Flags from '@oclif/core/flags'
import { PagecacheError } from '../errors.ts'
import { ctaActions, frequencies, givenFields } from '../operations/stage-fields.ts'
import { lookInput, orNull, stageLookFlags, stageLookNames, toNumber, type StageLookFlags } from './stage-look-flags.ts'

/** Flags of stage:create and stage:update. */
export const stageFlags = {
  stats: Flags.boolean({ summary: 'Record visitor events.', allowNo: true }),
  'retention-days': Flags.integer({ summary: 'Retention of events in days; 0: unlimited.', helpValue: '<n>' }),
  'max-per-session': Flags.string({
    summary: 'Max views per session; none: unlimited.',
    helpValue: '<n>|none',
  }),
  frequency: Flags.option({
    options: frequencies,
    summary: 'How often a visitor sees the stage.',
    helpValue: '<frequency>',
  })(),
  'sales-channel': Flags.string({ summary: 'Sales channel to show it on, or all.', helpValue: '<id>|all' }),
  active: Flags.boolean({ summary: 'Show the stage to visitors.', allowNo: true }),
  from: Flags.string({
    summary: 'Do not show it before this time, given with its time zone (2026-12-01T00:00+01:00); none: no limit.',
    helpValue: '<time>|none',
  }),
  until: Flags.string({ summary: 'Do not show it from this time on; none: no limit.', helpValue: '<time>|none' }),
  'page-type': Flags.string({
    summary: 'Page type to show it on, or all; may be repeated.',
    multiple: true,
    helpValue: '<type>',
  }),
  headline: Flags.string({ summary: 'Headline.', helpValue: '<text>' }),
  text: Flags.string({ summary: 'Text; "": none.', helpValue: '<text>', exclusive: ['html-file'] }),
  'html-file': Flags.string({ summary: 'File with HTML content, which is sanitised.', helpValue: '<file>' }),
  'cta-label': Flags.string({ summary: 'Button label; "": no button.', helpValue: '<text>' }),
  'cta-action': Flags.option({
    options: ctaActions,
    summary: 'Button action; default: url.',
    helpValue: '<action>',
    dependsOn: ['cta-label'],
  })(),
  'cta-url': Flags.string({ summary: 'Button target URL.', helpValue: '<url>', dependsOn: ['cta-label'] }),
  'cta-selector': Flags.string({
    summary: 'CSS selector that the button scrolls to.',
    helpValue: '<selector>',
    dependsOn: ['cta-label'],
  }),
  'dismiss-label': Flags.string({
    summary: 'Label of the "don\'t show again" button; "": no button.',
    helpValue: '<text>',
  }),
  'close-label': Flags.string({ summary: 'Label of the close button for screen readers.', helpValue: '<text>' }),
  ...stageLookFlags,
}

/** Flags of stage fields that cannot be derived from the field's name. */
export const stageFieldNames = {
  statsEnabled: '--stats',
  'content.html': '--html-file',
  'content.callToAction': '--cta-label',
  'content.callToAction.label': '--cta-label',
  'content.callToAction.action': '--cta-action',
  'content.callToAction.url': '--cta-url',
  'content.callToAction.selector': '--cta-selector',
  ...stageLookNames,
}

interface StageFlagValues extends StageLookFlags {
  stats?: boolean | undefined
  'retention-days'?: number | undefined
  'max-per-session'?: string | undefined
  frequency?: (typeof frequencies)[number] | undefined
  'sales-channel'?: string | undefined
  active?: boolean | undefined
  'page-type'?: string[] | undefined
  headline?: string | undefined
  text?: string | undefined
  'html-file'?: string | undefined
  'cta-label'?: string | undefined
  'cta-action'?: (typeof ctaActions)[number] | undefined
  'cta-url'?: string | undefined
  'cta-selector'?: string | undefined
  'dismiss-label'?: string | undefined
  'close-label'?: string | undefined
  from?: string | undefined
  until?: string | undefined
}

/** Converts flags to stage fields, without those not given. @throws USAGE for an unreadable file */
export async function stageInput(flags: StageFlagValues) {
  return givenFields({
    statsEnabled: flags.stats,
    retentionDays: flags['retention-days'],
    maxPerSession: toNumber(flags['max-per-session']),
    frequency: flags.frequency,
    salesChannelId: flags['sales-channel'] === 'all' ? null : flags['sales-channel'],
    active: flags.active,
    pageTypes: flags['page-type']?.filter((type) => type !== 'all'),
    from: orNull(flags.from),
    until: orNull(flags.until),
    content: await contentOf(flags),
    ...lookInput(flags),
  })
}

async function contentOf(flags: StageFlagValues) {
  const label = flags['cta-label']
  const content = givenFields({
    headline: flags.headline,
    text: flags.text === '' ? null : flags.text,
    html: flags['html-file'] === undefined ? undefined : await readHtml(flags['html-file']),
    callToAction:
      label === undefined
        ? undefined
        : label === ''
          ? null
          : {
              label,
              ...givenFields({ action: flags['cta-action'], url: flags['cta-url'], selector: flags['cta-selector'] }),
            },
    dismissLabel: flags['dismiss-label'] === '' ? null : flags['dismiss-label'],
    closeLabel: flags['close-label'],
  })
  return Object.keys(content).length === 0 ? undefined : content
}

async function readHtml(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new PagecacheError('USAGE', `--html-file: could not read ${file}: ${(error as Error).message}`, {
      cause: error,
    })
  }
}
