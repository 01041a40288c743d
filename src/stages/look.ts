import { PagecacheError } from '../errors.ts'

/** `centre` and `sheet` are modal, with an overlay; the page behind `corner` and `bar` remains usable. */
export const positions = ['centre', 'corner', 'sheet', 'bar'] as const
export const entrances = ['none', 'fade', 'slide'] as const
/** `auto`: as the visitor's system. */
export const schemes = ['light', 'dark', 'auto'] as const

/** The appearance of a stage. */
export interface StageLook {
  /** Colour of the button as `#rrggbb`; null: the shop's `--vendor-stage-accent`, else green. */
  accent: string | null
  /** CSS font families; null: the shop's `--vendor-stage-font`, else the system's. */
  font: string | null
  /** Path on the shop, or absolute URL; null: no image. */
  image: string | null
  /** Text alternative of the image; empty for a decorative image. */
  imageAlt: string
  position: (typeof positions)[number]
  entrance: (typeof entrances)[number]
  scheme: (typeof schemes)[number]
}

/** When a stage opens: as soon as one of these happens, at once if none is set. */
export interface StageTrigger {
  /** Seconds on the page. */
  delay: number | null
  /** Percentage of the page scrolled. */
  scroll: number | null
  /** The pointer leaves the window at its top. */
  exitIntent: boolean
}

export const defaultLook: StageLook = {
  accent: null,
  font: null,
  image: null,
  imageAlt: '',
  position: 'centre',
  entrance: 'none',
  scheme: 'light',
}
export const defaultTrigger: StageTrigger = { delay: null, scroll: null, exitIntent: false }

const genericFonts = new Set(
  'serif sans-serif monospace cursive fantasy system-ui ui-serif ui-sans-serif ui-monospace ui-rounded'.split(' '),
)

/**
 * Brings a look into its stored form, which is safe in a style sheet and in an attribute.
 *
 * @param origins of the shop's pages
 * @throws INVALID_INPUT
 */
export function readLook(look: StageLook, origins: readonly string[]): StageLook {
  const { accent, font, image } = look
  return {
    ...look,
    accent: accent === null ? null : toColour(accent),
    font: font === null ? null : toFontList(font),
    image: image === null ? null : checkedImage(image, origins),
  }
}

/** The origin of an image that is on none of `origins`; null for all others. Such a host learns the address of each visitor. */
export function foreignOrigin(image: string | null, origins: readonly string[]): string | null {
  if (image === null || image.startsWith('/')) return null
  const { origin } = new URL(image)
  return origins.includes(origin) ? null : origin
}

function toColour(text: string): string {
  const digits = /^#([\da-f]{3}|[\da-f]{6})$/i.exec(text)?.[1]?.toLowerCase()
  if (digits === undefined) throw invalid('look.accent: expected a colour such as #1f6f5c')
  return `#${digits.length === 3 ? digits.replaceAll(/./g, '$&$&') : digits}`
}

/** Quotes each family that is not generic, so that no name is read as anything else. */
function toFontList(text: string): string {
  const families = text.split(',').map((family) => family.trim().replace(/^(["'])(.*)\1$/, '$2'))
  if (families.length > 10 || !families.every((family) => /^[\p{L}\p{N}][\p{L}\p{N} _.+-]{0,63}$/u.test(family)))
    throw invalid('look.font: expected font families separated by commas, such as Inter, sans-serif')
  return families.map((family) => (genericFonts.has(family) ? family : `"${family}"`)).join(', ')
}

function checkedImage(text: string, origins: readonly string[]): string {
  if (!isImageAddress(text, origins))
    throw invalid('look.image: expected a path that begins with /, an https URL, or a URL of a sales channel')
  return text
}

/** Browsers read `\` as `/` and skip whitespace and controls. An insecure image of another host would be blocked on secure pages. */
function isImageAddress(text: string, origins: readonly string[]): boolean {
  if (/[\s\\\u0000-\u001f\u007f]/.test(text)) return false
  if (text.startsWith('/')) return !text.startsWith('//')
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false
  const { protocol, origin, username, password } = new URL(text)
  return username + password === '' && (protocol === 'https:' || origins.includes(origin))
}

function invalid(message: string): PagecacheError {
  return new PagecacheError('INVALID_INPUT', message)
}
