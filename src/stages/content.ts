import { PagecacheError } from '../errors.ts'
import { ctaActions, type CallToAction, type StageContent } from './stage.ts'

/** What a stage's HTML may consist of; everything else goes when it is written, so that what is stored is what is shown. */
const allowedTags = [
  'p',
  'br',
  'hr',
  'h2',
  'h3',
  'h4',
  'strong',
  'b',
  'em',
  'i',
  'u',
  's',
  'small',
  'span',
  'div',
  'ul',
  'ol',
  'li',
  'blockquote',
  'a',
  'img',
  'button',
]
/** What makes an element a layer with a click action (spec 2, section 6). */
const layer = ['data-action', 'data-target']

/** Makes a content what may be stored and shown. Throws INVALID_INPUT where the call to action leads nowhere, or to what is no web address. */
export type ContentSanitiser = (content: StageContent) => StageContent

/**
 * Loads what sanitises, so that sanitising itself waits for nothing: of the HTML no script, style, form, frame, event
 * handler or odd URL is left.
 */
export async function loadSanitiser(): Promise<ContentSanitiser> {
  const { default: sanitizeHtml } = await import('sanitize-html')
  return (content) => {
    const { html, text, callToAction } = content
    if (html !== null && text !== null) throw invalid('content: expected html or text, not both')
    if (callToAction !== null) assertSound(callToAction)
    return { ...content, html: html === null ? null : sanitizeHtml(html, rules) }
  }
}

const rules = {
  allowedTags,
  allowedAttributes: {
    '*': ['class', 'lang', 'dir', 'title', ...layer],
    a: ['href', 'target', 'rel'],
    img: ['src', 'alt', 'width', 'height', 'loading'],
    button: ['type'],
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowedSchemesByTag: { img: ['http', 'https'] },
  allowProtocolRelative: false,
  disallowedTagsMode: 'discard' as const,
  transformTags: {
    '*': (tagName: string, attribs: Record<string, string>) => ({
      tagName,
      attribs: isClickAction(attribs) ? attribs : without(without(attribs, 'data-action'), 'data-target'),
    }),
    a: (tagName: string, attribs: Record<string, string>) => ({
      tagName,
      attribs: attribs['target'] === '_blank' ? { ...attribs, rel: 'noopener noreferrer' } : without(attribs, 'target'),
    }),
    // One that submits would take the page along.
    button: (tagName: string, attribs: Record<string, string>) => ({
      tagName,
      attribs: { ...attribs, type: 'button' },
    }),
  },
}

function without(attributes: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => key !== name))
}

/** Whether a layer does on a click what the storefront script knows; a URL is followed by it, so that it has to be one of the web's. */
function isClickAction(attributes: Record<string, string>): boolean {
  const action = attributes['data-action']
  return action === 'url' ? isWebAddress(attributes['data-target'] ?? '') : ctaActions.some((known) => known === action)
}

function assertSound({ action, url, selector }: CallToAction): void {
  if (action === 'url' && !isWebAddress(url ?? ''))
    throw invalid('content.callToAction.url: expected an http or https URL, a path that begins with /, or a fragment')
  if (action === 'scroll' && (selector ?? '') === '')
    throw invalid('content.callToAction.selector: expected a CSS selector to scroll to')
}

/** A path of the same site, a fragment, or an absolute URL; browsers read `\` as `/`, and skip blanks and controls. */
function isWebAddress(url: string): boolean {
  if (/[\s\\\u0000-\u001f\u007f]/.test(url)) return false
  if (url.startsWith('#') || /^\/(?!\/)/.test(url)) return true
  return /^https?:\/\//i.test(url) && URL.canParse(url)
}

function invalid(message: string): PagecacheError {
  return new PagecacheError('INVALID_INPUT', message)
}
