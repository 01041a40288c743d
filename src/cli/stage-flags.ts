import { readFile } from 'node:fs/promises'
import * as Flags from '@oclif/core/flags'
import { PagecacheError } from '../errors.ts'
import { givenFields } from '../lib/given-fields.ts'
import { ctaActions, frequencies } from '../operations/stage-fields.ts'

/** What stage:create and stage:update set of a stage. */
export const stageFlags = {
  stats: Flags.boolean({ summary: 'Record what visitors do with it.', allowNo: true }),
  'retention-days': Flags.integer({ summary: 'Days that events are kept; 0 for ever.', helpValue: '<n>' }),
  'max-per-session': Flags.string({
    summary: 'Shows per visitor session; none for any number.',
    helpValue: '<n>|none',
  }),
  frequency: Flags.option({
    options: frequencies,
    summary: 'How often a visitor sees it.',
    helpValue: '<frequency>',
  })(),
  'sales-channel': Flags.string({ summary: 'Only on this sales channel; all for every one.', helpValue: '<id>|all' }),
  active: Flags.boolean({ summary: 'Show it to visitors.', allowNo: true }),
  'page-type': Flags.string({
    summary: 'Only on pages of this type; may be repeated. all for every page.',
    multiple: true,
    helpValue: '<type>',
  }),
  headline: Flags.string({ summary: 'Its headline.', helpValue: '<text>' }),
  text: Flags.string({ summary: 'Its text; "" for none.', helpValue: '<text>', exclusive: ['html-file'] }),
  'html-file': Flags.string({ summary: 'A file with its HTML, which is sanitised.', helpValue: '<file>' }),
  'cta-label': Flags.string({ summary: 'The label of its button; "" for no button.', helpValue: '<text>' }),
  'cta-action': Flags.option({
    options: ctaActions,
    summary: 'What the button does; url without it.',
    helpValue: '<action>',
    dependsOn: ['cta-label'],
  })(),
  'cta-url': Flags.string({ summary: 'Where the button leads.', helpValue: '<url>', dependsOn: ['cta-label'] }),
  'cta-selector': Flags.string({
    summary: 'What the button scrolls to.',
    helpValue: '<selector>',
    dependsOn: ['cta-label'],
  }),
  'dismiss-label': Flags.string({
    summary: 'The label of a "don\'t show again" button; without it, or with "", there is none.',
    helpValue: '<text>',
  }),
  'close-label': Flags.string({ summary: 'What screen readers call the X.', helpValue: '<text>' }),
}

/** Fields of a stage whose flags do not follow from their names. */
export const stageFieldNames = {
  statsEnabled: '--stats',
  'content.html': '--html-file',
  'content.callToAction': '--cta-label',
  'content.callToAction.label': '--cta-label',
  'content.callToAction.action': '--cta-action',
  'content.callToAction.url': '--cta-url',
  'content.callToAction.selector': '--cta-selector',
}

interface StageFlagValues {
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
}

/** The flags as fields of a stage; what was not given is left out. Throws USAGE for a file that cannot be read. */
export async function stageInput(flags: StageFlagValues) {
  const shows = flags['max-per-session']
  return givenFields({
    statsEnabled: flags.stats,
    retentionDays: flags['retention-days'],
    maxPerSession: shows === undefined ? undefined : shows === 'none' ? null : Number(shows),
    frequency: flags.frequency,
    salesChannelId: flags['sales-channel'] === 'all' ? null : flags['sales-channel'],
    active: flags.active,
    pageTypes: flags['page-type']?.filter((type) => type !== 'all'),
    content: await contentOf(flags),
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
    throw new PagecacheError('USAGE', `--html-file: ${file} cannot be read`, { cause: error })
  }
}
