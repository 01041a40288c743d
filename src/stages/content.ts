import { PagecacheError } from '../errors.ts'
import { allowedAttributes, allowedTags } from './html-rules.ts'
import { ctaActions, type CallToAction, type StageContent } from './stage.ts'

/** Sanitises content for storage. Throws INVALID_INPUT if the call to action has no target or no valid web address. */
export type ContentSanitiser = (content: StageContent) => StageContent

/**
 * Loads the sanitiser, so that sanitising itself is synchronous. It removes scripts, styles, forms, frames, event handlers and URLs
 * with other schemes from the HTML.
 */
export async function loadSanitiser(): Promise<ContentSanitiser> {
  const { default: sanitizeHtml } = await import('sanitize-html')
  return (content) => {
    const { html, text, callToAction } = content
    if (html !== null && text !== null) throw invalid('content: expected html or text, not both')
    if (callToAction !== null) validateCallToAction(callToAction)
    return { ...content, html: html === null ? null : sanitizeHtml(html, rules) }
  }
}

const rules = {
  allowedTags,
  allowedAttributes,
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
    // A submit button would reload the page.
    button: (tagName: string, attribs: Record<string, string>) => ({
      tagName,
      attribs: { ...attribs, type: 'button' },
    }),
  },
}

function without(attributes: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => key !== name))
}

/** Whether the storefront script knows the click action of an element. It navigates to URLs, so they must be web addresses. */
function isClickAction(attributes: Record<string, string>): boolean {
  const action = attributes['data-action']
  return action === 'url' ? isWebAddress(attributes['data-target'] ?? '') : ctaActions.some((known) => known === action)
}

function validateCallToAction({ action, url, selector }: CallToAction): void {
  if (action === 'url' && !isWebAddress(url ?? ''))
    throw invalid('content.callToAction.url: expected an http or https URL, a path that begins with /, or a fragment')
  if (action === 'scroll' && (selector ?? '') === '')
    throw invalid('content.callToAction.selector: expected a CSS selector to scroll to')
}

/** Whether a URL is a path, a fragment or an absolute http(s) URL. Browsers read `\` as `/` and skip whitespace and controls. */
function isWebAddress(url: string): boolean {
  if (/[\s\\\u0000-\u001f\u007f]/.test(url)) return false
  if (url.startsWith('#') || /^\/(?!\/)/.test(url)) return true
  return /^https?:\/\//i.test(url) && URL.canParse(url)
}

function invalid(message: string): PagecacheError {
  return new PagecacheError('INVALID_INPUT', message)
}
