import type { Stage } from './answers.ts'

type Look = Stage['look']

/** The settings of a stage as form fields hold them: as text until they are sent. */
export interface Draft {
  name: string
  active: boolean
  statsEnabled: boolean
  frequency: string
  maxPerSession: string
  retentionDays: string
  salesChannelId: string
  pageTypes: string
  headline: string
  text: string
  html: string
  label: string
  action: 'none' | NonNullable<Stage['content']['callToAction']>['action']
  target: string
  dismissLabel: string
  /** In UTC, as `datetime-local` has it. */
  from: string
  until: string
  accent: string
  font: string
  image: string
  imageAlt: string
  position: Look['position']
  entrance: Look['entrance']
  scheme: Look['scheme']
  delay: string
  scroll: string
  exitIntent: boolean
}

export function toDraft(stage: Stage | null): Draft {
  const call = stage?.content.callToAction ?? null
  return {
    name: stage?.name ?? '',
    active: stage?.active ?? true,
    statsEnabled: stage?.statsEnabled ?? true,
    frequency: stage?.frequency ?? 'always',
    maxPerSession: stage?.maxPerSession?.toString() ?? '',
    retentionDays: String(stage?.retentionDays ?? 90),
    salesChannelId: stage?.salesChannelId ?? '',
    pageTypes: stage?.pageTypes.join(', ') ?? '',
    headline: stage?.content.headline ?? '',
    text: stage?.content.text ?? '',
    html: stage?.content.html ?? '',
    label: call?.label ?? '',
    action: call?.action ?? 'none',
    target: call?.url ?? call?.selector ?? '',
    dismissLabel: stage?.content.dismissLabel ?? '',
    from: toLocal(stage?.from ?? null),
    until: toLocal(stage?.until ?? null),
    accent: stage?.look.accent ?? '',
    font: stage?.look.font ?? '',
    image: stage?.look.image ?? '',
    imageAlt: stage?.look.imageAlt ?? '',
    position: stage?.look.position ?? 'centre',
    entrance: stage?.look.entrance ?? 'none',
    scheme: stage?.look.scheme ?? 'light',
    delay: stage?.trigger.delay?.toString() ?? '',
    scroll: stage?.trigger.scroll?.toString() ?? '',
    exitIntent: stage?.trigger.exitIntent ?? false,
  }
}

/** Converts a draft to the request body. The API validates it and explains errors. */
export function toBody(draft: Draft) {
  return {
    name: draft.name,
    active: draft.active,
    statsEnabled: draft.statsEnabled,
    frequency: draft.frequency,
    maxPerSession: numberOf(draft.maxPerSession),
    // An empty field must not mean "for ever".
    retentionDays: numberOf(draft.retentionDays),
    salesChannelId: draft.salesChannelId.trim() === '' ? null : draft.salesChannelId.trim(),
    pageTypes: draft.pageTypes
      .split(',')
      .map((type) => type.trim())
      .filter((type) => type !== ''),
    from: toUtc(draft.from),
    until: toUtc(draft.until),
    content: toContent(draft),
    look: toLook(draft),
    trigger: { delay: numberOf(draft.delay), scroll: numberOf(draft.scroll), exitIntent: draft.exitIntent },
  }
}

/** The settings in which two drafts differ. A save sends only these, so it keeps settings that someone else has saved meanwhile. */
export function toChanges(draft: Draft, base: Draft): Entries {
  const [now, before] = [toBody(draft), toBody(base)]
  const { content, look, trigger, ...settings } = differing(now, before)
  return {
    ...settings,
    ...(content === undefined ? {} : { content: withBoth(differing(now.content, before.content), now.content) }),
    ...(look === undefined ? {} : { look: differing(now.look, before.look) }),
    ...(trigger === undefined ? {} : { trigger: differing(now.trigger, before.trigger) }),
  }
}

type Entries = Readonly<Record<string, unknown>>

/** The entries of `now` that differ from those of `before`. */
function differing<T extends object>(now: T, before: T): Partial<T> {
  const isNew = (name: string) => JSON.stringify(now[name as keyof T]) !== JSON.stringify(before[name as keyof T])
  return Object.fromEntries(Object.entries(now).filter(([name]) => isNew(name))) as Partial<T>
}

/** Sends text and HTML together: the API removes the HTML for a text alone, but reports that both are set. */
function withBoth(changes: Entries, { text, html }: ReturnType<typeof toContent>): Entries {
  return 'text' in changes || 'html' in changes ? { ...changes, text, html } : changes
}

function orNull(text: string): string | null {
  return text === '' ? null : text
}

function numberOf(text: string): number | null {
  return text === '' ? null : Number(text)
}

function toLocal(time: string | null): string {
  return time === null ? '' : time.slice(0, -1).replace(/(:00)?\.000$/, '')
}

function toUtc(local: string): string | null {
  return local === '' ? null : `${local}Z`
}

export function toLook(draft: Draft): Look {
  return {
    accent: orNull(draft.accent.trim()),
    font: orNull(draft.font.trim()),
    image: orNull(draft.image.trim()),
    imageAlt: draft.imageAlt,
    position: draft.position,
    entrance: draft.entrance,
    scheme: draft.scheme,
  }
}

/** The content without the label of the close button, which the form does not change. */
export function toContent(draft: Draft): Omit<Stage['content'], 'closeLabel'> {
  const callToAction =
    draft.action === 'none'
      ? null
      : {
          label: draft.label,
          action: draft.action,
          url: draft.action === 'url' ? draft.target : null,
          selector: draft.action === 'scroll' ? draft.target : null,
        }
  return {
    headline: draft.headline,
    text: orNull(draft.text),
    html: orNull(draft.html),
    callToAction,
    dismissLabel: orNull(draft.dismissLabel),
  }
}

/** Settings of the API and the labels of their fields, where these differ. */
const labels: Readonly<Record<string, string>> = {
  name: 'Name',
  maxPerSession: 'Max views per session',
  retentionDays: 'Retention in days',
  pageTypes: 'Page types',
  from: 'Show from',
  until: 'Show until',
  'trigger.delay': 'Open after seconds',
  'trigger.scroll': 'Open at % scrolled',
  'content.headline': 'Headline',
  'content.text': 'Content as text',
  'content.html': 'Content as HTML',
  'content.dismissLabel': 'Dismiss label',
  'content.callToAction.label': 'Button label',
  'content.callToAction.url': 'URL',
  'content.callToAction.selector': 'CSS selector',
  'look.accent': 'Accent',
  'look.font': 'Fonts',
  'look.image': 'Image',
  'look.imageAlt': 'Image description',
}

/** A message of the API with the labels of the form: it begins each fault with the name of a setting. */
export function withLabels(message: string): string {
  return message
    .split('; ')
    .map((fault) => fault.replace(/^[\w.]+(?=(?:\[\d+\])?: )/, (name) => labels[name] ?? name))
    .join('; ')
}
