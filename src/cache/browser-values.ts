const mediaTypes =
  'text/(?:html|css|plain|xml|javascript)|application/(?:xhtml\\+xml|xml|json|javascript|signed-exchange)|image/(?:avif|webp|apng|svg\\+xml|png|gif|jpeg|jxl|heic|heic-sequence|\\*)|(?:audio|video|font|text|\\*)/\\*'
const number = /^\d{1,5}(?:\.\d{1,6})?$/
/** A brand of Sec-CH-UA: an existing browser, or the invented brand that browsers add so that sites tolerate unknown ones. */
const brand =
  '"(?:Chromium|Google Chrome|Microsoft Edge|Microsoft Edge WebView2|Opera|OperaMobile|Opera GX|Brave|Vivaldi|YaBrowser|Yowser|Samsung Internet|Android WebView|HeadlessChrome|DuckDuckGo|[ (:;/.?_=-]{0,2}Not[ ()\\-./:;=?_]A[ ()\\-./:;=?_]Brand)";\\s?v="[\\d.]{1,20}"'

/** Fields with a closed grammar, and the values that browsers send in them, which identify no visitor. */
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
  [/^accept-charset$/, /^(?:(?:utf-8|iso-8859-\d{1,2}|windows-125\d|\*)(?:;\s?q=[01](?:\.\d{1,3})?)?(?:,\s?|$))+$/i],
  [
    /^cdn-loop$/,
    /^(?:cloudflare(?:; ?loops=\d{1,2})?(?:; ?subreqs=\d{1,2})?|fastly|akamai(?:; ?v=1\.0; ?c=\d{1,2})?)$/i,
  ],
  [/^service-worker(?:-navigation-preload)?$/, /^(?:script|true)$/],
  [/^cf-ipcountry$/, /^(?:[A-Z]{2}|T1)$/],
]

/** `Sec-` fields of browsers with free text. Browsers send no other `Sec-` fields than these and the closed ones. */
const openHints =
  /^sec-(?:ch-ua-(?:model|form-factors)|browsing-topics|fetch-storage-access|shared-storage-writable|ad-auction-fetch|speculation-tags)$/

/** Common values of fields without a closed grammar. */
const usual: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/^accept$/, new RegExp(`^(?:(?:${mediaTypes})(?:;\\s?(?:q=[01](?:\\.\\d{1,3})?|v=b3))*(?:,\\s?|$))+$`)],
  [/^x-requested-with$/, /^XMLHttpRequest$/],
]

/** Whether any browser could send this value in a field (name in lower case). */
export function isCommonBrowserValue(name: string, value: string): boolean {
  if (name === 'accept-language') return areLanguages(value)
  return [...closed, ...usual].some(([names, values]) => names.test(name) && values.test(value))
}

/** Whether no browser sends this value in the field, or the value could act as markup or script where a page repeats it. */
export function isImplausibleValue(name: string, value: string): boolean {
  if (/[^\t\x20-\x7e]/.test(value)) return true
  const rule = closed.find(([names]) => names.test(name))
  if (rule !== undefined) return !rule[1].test(value)
  if (name === 'accept-language') return !areLanguages(value)
  if (name === 'user-agent') return value.length > 512 || /[<>"'`{}\\^|$]|%[0-9a-f]{2}/i.test(value)
  if (name === 'origin')
    return !/^(?:null|[a-z][a-z0-9+.-]{0,20}:\/\/(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?)$/.test(value)
  if (name.startsWith('sec-')) return !openHints.test(name) || !/^[\w "?.;,=()-]{0,200}$/.test(value)
  return holdsMarkup(value)
}

/** Whether a value contains markup, or an attribute's end followed by script, plain or escaped in a way that shops decode. */
export function holdsMarkup(value: string): boolean {
  return decodedForms(value).some(
    (form) =>
      /[<>]|["']\s*on\w+\s*=|\b(?:java|vb)script\s*:/i.test(form) ||
      /&(?:lt|gt|#0*6[02]|#x0*3[ce])\b|\\u003[ce]|\\x3[ce]/i.test(form),
  )
}

/** A value, and the value URL-decoded once and twice. */
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
const knownLanguages = new Map<string, boolean>()
const mostKnown = 1000

/** Whether Accept-Language (RFC 9110 §12.5.4) lists only languages, scripts and regions that exist. */
function areLanguages(value: string): boolean {
  const known = knownLanguages.get(value)
  if (known !== undefined) return known
  const are = value.length <= 512 && value.split(',').every((element) => isLanguage(element.trim()))
  // Visitors choose the values, so the map is cleared when it is full.
  if (knownLanguages.size >= mostKnown) knownLanguages.clear()
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

/** Accept values that browsers send for a page: HTML comes first, by weight and by order. */
const pageAccept =
  /^text\/html,application\/xhtml\+xml,application\/xml;q=0\.9(?:,image\/(?:jxl|avif|webp|apng|png|svg\+xml)){0,5},\*\/\*;q=0\.8(?:,application\/signed-exchange;v=b3;q=0\.[79])?$/

/** Accept values that browsers send for parts of a page, with the response types that they request. */
const partAccepts: readonly (readonly [type: RegExp, accepts: ReadonlySet<string>])[] = [
  [
    /^image\//,
    new Set([
      // Chromium, since it shows JPEG XL.
      'image/jxl,image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
      'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
      'image/avif,image/webp,image/apng,image/*,*/*;q=0.8',
      'image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
      'image/webp,image/apng,image/*,*/*;q=0.8',
      'image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
      'image/avif,image/jxl,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
      'image/avif,image/webp,*/*',
      'image/png,image/*;q=0.8,*/*;q=0.5',
      'image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
      'image/webp,image/avif,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
      'image/webp,image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5',
      'image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5',
    ]),
  ],
  [/^text\/css$/, new Set(['text/css,*/*;q=0.1'])],
  [
    /^(?:video|audio)\//,
    new Set([
      'video/webm,video/ogg,video/*;q=0.9,application/ogg;q=0.7,audio/*;q=0.6,*/*;q=0.5',
      'audio/webm,audio/ogg,audio/wav,audio/*;q=0.9,application/ogg;q=0.7,video/*;q=0.6,*/*;q=0.5',
    ]),
  ],
  [
    /^(?:font\/|application\/(?:x-)?font-)/,
    new Set(['application/font-woff2;q=1.0,application/font-woff;q=0.9,*/*;q=0.8']),
  ],
]

/**
 * Whether browsers send exactly this Accept value for a response of this type. The set is closed, because a shop that negotiates by
 * order or weight could respond to any other value with another format.
 *
 * @param accept null: no Accept field
 * @param type media type of the response, in lower case and without parameters; null: any type
 */
export function isUsualAccept(accept: string | null, type: string | null): boolean {
  if (accept === null) return true
  const value = accept.replace(/[ \t]+/g, '')
  if (value === '*/*' || pageAccept.test(value)) return true
  return partAccepts.some(([types, accepts]) => accepts.has(value) && (type === null || types.test(type)))
}
