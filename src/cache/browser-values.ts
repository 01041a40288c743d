import { LRUCache } from 'lru-cache'

const mediaTypes =
  'text/(?:html|css|plain|xml|javascript)|application/(?:xhtml\\+xml|xml|json|javascript|signed-exchange)|image/(?:avif|webp|apng|svg\\+xml|png|gif|jpeg|jxl|heic|heic-sequence|\\*)|(?:audio|video|font|text|\\*)/\\*'
const number = /^\d{1,5}(?:\.\d{1,6})?$/
/** One brand of Sec-CH-UA: the real ones, and the invented one that browsers add on purpose (GREASE). */
const brand =
  '"(?:Chromium|Google Chrome|Microsoft Edge|Microsoft Edge WebView2|Opera|OperaMobile|Opera GX|Brave|Vivaldi|YaBrowser|Yowser|Samsung Internet|Android WebView|HeadlessChrome|DuckDuckGo|[ (:;/.?_=-]{0,2}Not[ ()\\-./:;=?_]A[ ()\\-./:;=?_]Brand)";\\s?v="[\\d.]{1,20}"'

/** Fields with a closed grammar and the values that browsers send in them. Such values do not identify a visitor. */
const closed: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [
    /^sec-fetch-(?:dest|mode|site|user)$/,
    /^(?:audio|audioworklet|cors|cross-site|document|embed|empty|font|frame|iframe|image|json|manifest|navigate|no-cors|none|nested-navigate|object|paintworklet|report|same-origin|same-site|script|serviceworker|sharedworker|style|track|video|webidentity|websocket|worker|xslt|\?[01])$/,
  ],
  [/^sec-ch-ua(?:-full-version-list)?$/, new RegExp(`^${brand}(?:,\\s?${brand}){0,5}$`)],
  [
    /^sec-ch-ua-(?:platform|arch|bitness|mobile|wow64|form-factors)$/,
    /^(?:"(?:Windows|macOS|Linux|Android|iOS|Chrome OS|Chromium OS|Unknown|x86|arm|64|32|Desktop|Mobile|Tablet|)"|\?[01])$/,
  ],
  [/^sec-ch-ua-(?:platform-version|full-version)$/, /^"[\d._]{0,20}"$/],
  [
    /^sec-ch-prefers-(?:color-scheme|reduced-motion|reduced-transparency|contrast)$/,
    /^"?(?:light|dark|reduce|no-preference|more|less|custom)"?$/,
  ],
  [/^(?:sec-ch-)?(?:device-memory|downlink|dpr|rtt|viewport-width|viewport-height|width)$/, number],
  [/^(?:sec-ch-)?ect$/, /^(?:slow-2g|[2345]g)$/],
  [/^(?:sec-ch-)?save-data$/, /^(?:on|\?[01])$/],
  [/^(?:dnt|sec-gpc|upgrade-insecure-requests|early-data)$/, /^[01]$/],
  [/^priority$/, /^(?:u=[0-7](?:,\s?i(?:=\?[01])?)?|i(?:=\?[01])?(?:,\s?u=[0-7])?)$/],
  [/^(?:sec-)?purpose$/, /^prefetch(?:;prerender|;anonymous-client-ip)?$/],
  [/^accept-charset$/, /^(?:(?:utf-8|iso-8859-\d{1,2}|windows-125\d|\*)(?:;\s?q=[\d.]{1,5})?(?:,\s?|$))+$/i],
]

/** Values that clients usually send in fields which may hold anything. */
const usual: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/^accept$/, new RegExp(`^(?:(?:${mediaTypes})(?:;\\s?(?:q=[\\d.]{1,5}|v=b3))*(?:,\\s?|$))+$`)],
  [/^x-requested-with$/, /^XMLHttpRequest$/],
  [/^cdn-loop$/, /^(?:cloudflare|fastly|akamai)(?:;[^,]*)?$/i],
]

/** Whether a request field (name in lower case) has a value that many browsers send. */
export function isCommonBrowserValue(name: string, value: string): boolean {
  if (name === 'accept-language') return areLanguages(value)
  return [...closed, ...usual].some(([names, values]) => names.test(name) && values.test(value))
}

/**
 * Whether no browser sends this value in this field, or the value could act as markup or script where a page repeats
 * it.
 */
export function isImplausibleValue(name: string, value: string): boolean {
  if (/[^\t\x20-\x7e]/.test(value)) return true
  const rule = closed.find(([names]) => names.test(name))
  if (rule !== undefined) return !rule[1].test(value)
  if (name === 'accept-language') return !areLanguages(value)
  if (name === 'user-agent') return value.length > 512 || /[<>"'`{}\\^|$]|%[0-9a-f]{2}/i.test(value)
  if (name === 'origin')
    return !/^(?:null|[a-z][a-z0-9+.-]{0,20}:\/\/(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?)$/.test(value)
  if (name.startsWith('sec-')) return !/^[\w "?.;,=()-]{0,200}$/.test(value)
  return holdsMarkup(value)
}

/**
 * Whether a value holds markup, or a quote followed by an event handler, as it is or in an escaped form that shops
 * decode.
 */
export function holdsMarkup(value: string): boolean {
  return decodedForms(value).some(
    (form) =>
      /[<>]|["']\s*on\w+\s*=|\b(?:java|vb)script\s*:/i.test(form) ||
      /&(?:lt|gt|#0*6[02]|#x0*3[ce])\b|\\u003[ce]|\\x3[ce]/i.test(form),
  )
}

/** The value itself, and the value URL-decoded once and twice. */
export function decodedForms(value: string): string[] {
  const forms = [value]
  for (let round = 0; round < 2; round++) {
    const last = forms.at(-1)!
    const decoded = last
      .replace(/\+/g, ' ')
      .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    if (decoded !== last) forms.push(decoded)
  }
  return forms
}

const language = /^(?:([a-z]{2,3})(?:-([a-z]{4}))?(?:-([a-z]{2}|\d{3}))?|\*)(?:;\s?q=[01](?:\.\d{1,3})?)?$/i
const names = Object.fromEntries(
  (['language', 'script', 'region'] as const).map((type) => [
    type,
    new Intl.DisplayNames('en', { type, fallback: 'none' }),
  ]),
) as Record<'language' | 'script' | 'region', Intl.DisplayNames>
const knownLanguages = new LRUCache<string, boolean>({ max: 1000 })

/** Whether an Accept-Language value (RFC 9110 §12.5.4) lists only languages, scripts and regions that exist. */
function areLanguages(value: string): boolean {
  const known = knownLanguages.get(value)
  if (known !== undefined) return known
  const are = value.length <= 512 && value.split(',').every((element) => isLanguage(element.trim()))
  if (value.length <= 512) knownLanguages.set(value, are)
  return are
}

function isLanguage(element: string): boolean {
  const match = language.exec(element)
  if (match === null) return false
  const exists = (type: keyof typeof names, code: string | undefined) =>
    code === undefined || names[type].of(code) !== undefined
  return exists('language', match[1]) && exists('script', match[2]) && exists('region', match[3])
}

/**
 * Whether an Accept value is one that browsers send for pages, images, styles and scripts: it ends in a wildcard, does
 * not rank HTML lower, and names no data format. True when there is no Accept (null).
 */
export function isUsualAccept(accept: string | null): boolean {
  if (accept === null) return true
  if (!isCommonBrowserValue('accept', accept)) return false
  const elements = accept
    .toLowerCase()
    .split(',')
    .map((element) => element.trim())
  const html = elements.find((element) => /^text\/html\b/.test(element))
  if (!elements.some((element) => element.startsWith('*/*')) || (html !== undefined && html !== 'text/html'))
    return false
  return !elements.some(
    (element) =>
      /json/.test(element) ||
      (/xml\b/.test(element) && !element.startsWith('image/') && html === undefined) ||
      element.startsWith('text/plain'),
  )
}
