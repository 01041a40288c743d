import { globMatcher } from '../lib/glob.ts'
import type { HeaderPair } from '../pages/page.ts'
import { cookieHeader, fieldValue, parseCookies } from './fields.ts'
import type { VisitHead, VisitorClasses } from './visit.ts'

/** How visitors are classified by one cookie or header, as configured: the first class with a matching pattern counts. */
export interface ClassSettings {
  /** Exactly one of the two is set. */
  header?: string | undefined
  cookie?: string | undefined
  /** Whether only a trusted proxy may send the header, such as one with the visitor's country. */
  fromProxy: boolean
  /** The patterns of each class. */
  classes: Readonly<Record<string, readonly string[]>>
  /** The class of all other visitors. */
  default: string
}

/** Characters of a value that are looked at. Those of browsers have 200. */
const longestValue = 512
/** Most values whose class is remembered. Visitors choose the values. */
const mostRemembered = 1000

/** A compiled map: assigns one of a few classes to a visitor. */
interface ClassMap {
  /** The request header in which the shop gets the class, in lower case. */
  field: string
  /** In lower case; null: a cookie is the source. */
  header: string | null
  cookie: string | null
  fromProxy: boolean
  classes: ReadonlySet<string>
  default: string
  classify(value: string): string
}

/** A request as far as it decides about classes. */
interface Classifiable {
  field(name: string): string | null
  cookies: ReadonlyMap<string, string>
  /** Whether a trusted proxy has sent it. */
  isTrusted: boolean
}

/** Assigns visitors to a few named classes, which take the place of a header or cookie with many values in keys and in requests to the shop. */
export class VisitorClassifier {
  readonly #maps: readonly ClassMap[]
  /** The request headers with classes, all of which are part of the key. */
  readonly fields: readonly string[]
  /** Header sources, which a shop may name in Vary: it gets them as the visitor sent them. */
  readonly sources: readonly string[]
  /** The header of the class by header source. */
  readonly #sources: ReadonlyMap<string, string>
  /** Headers with classes that a cookie decides, with the default class. */
  readonly #ofNoCookie: VisitorClasses

  constructor(settings: Readonly<Record<string, ClassSettings>> = {}) {
    this.#maps = Object.entries(settings).map(([name, each]) => compile(name, each))
    this.fields = this.#maps.map(({ field }) => field)
    this.#sources = new Map(this.#maps.flatMap(({ header, field }) => (header === null ? [] : [[header, field]])))
    this.sources = [...this.#sources.keys()]
    this.#ofNoCookie = new Map(
      this.#maps.filter(({ cookie }) => cookie !== null).map((map) => [map.field, map.default]),
    )
  }

  /** The cookies that classes replace. */
  get cookies(): string[] {
    return this.#maps.flatMap(({ cookie }) => cookie ?? [])
  }

  /** The classes of a request; null where none are configured. */
  classesOf({ field, cookies, isTrusted }: Classifiable): VisitorClasses | null {
    if (this.#maps.length === 0) return null
    return new Map(
      this.#maps.map((map) => {
        const may = isTrusted || !map.fromProxy
        const value = map.header === null ? cookies.get(map.cookie!) : may ? field(map.header) : null
        return [map.field, value === null || value === undefined ? map.default : map.classify(value)]
      }),
    )
  }

  /** Reads request fields: those with classes, and those that classes replace, have a class as their value. */
  reader(classes: VisitorClasses | null, field: (name: string) => string | null): (name: string) => string | null {
    return classes === null ? field : (name) => classes.get(this.#sources.get(name) ?? name) ?? field(name)
  }

  /**
   * The visit with its classes as request headers for the shop. What the visitor has sent under these names is dropped, and so are headers of
   * proxies that classes replace.
   *
   * @param isOperators whether an operator has chosen the headers, who may name a class itself
   */
  classified<V extends VisitHead>(visit: V, isOperators = false): V {
    if (this.#maps.length === 0 || visit.classes !== undefined) return visit
    const field = (name: string) => fieldValue(visit.headers, name)
    const cookies = parseCookies(cookieHeader(visit.headers))
    const found = this.classesOf({ field, cookies, isTrusted: isOperators || visit.isTrusted === true })!
    const classes = new Map(
      this.#maps.map((map) => {
        const named = isOperators ? field(map.field) : null
        return [map.field, named !== null && map.classes.has(named) ? named : found.get(map.field)!]
      }),
    )
    const dropped = new Set(this.#maps.flatMap((map) => (map.fromProxy ? [map.field, map.header] : [map.field])))
    const kept = visit.headers.filter(([name]) => !dropped.has(name.toLowerCase().replaceAll('_', '-')))
    return { ...visit, classes, headers: [...kept, ...classes] satisfies HeaderPair[] }
  }

  /** The classified visit to an asset (`cache.assets`): no cookie counts, so all visitors are in the default class of a cookie's map. */
  withoutCookies<V extends VisitHead>(visit: V): V {
    const defaults = this.#ofNoCookie
    if (defaults.size === 0) return visit
    const headers = visit.headers.map(([name, value]): HeaderPair => [name, defaults.get(name) ?? value])
    return { ...visit, classes: new Map([...(visit.classes ?? []), ...defaults]), headers }
  }
}

function compile(name: string, settings: ClassSettings): ClassMap {
  const classes = Object.entries(settings.classes).map(([label, patterns]) => ({
    label,
    matchers: patterns.map((pattern) => globMatcher(pattern.toLowerCase(), { sets: true })),
  }))
  const remembered = new Map<string, string>()
  const classify = (value: string) => {
    const text = value.slice(0, longestValue).toLowerCase()
    return classes.find(({ matchers }) => matchers.some((matches) => matches(text)))?.label ?? settings.default
  }
  return {
    field: `x-variant-${name}`,
    header: settings.header ?? null,
    cookie: settings.cookie ?? null,
    fromProxy: settings.fromProxy,
    classes: new Set([...Object.keys(settings.classes), settings.default]),
    default: settings.default,
    classify: (value) => {
      let found = remembered.get(value)
      if (found === undefined) {
        found = classify(value)
        if (remembered.size >= mostRemembered) remembered.clear()
        if (value.length <= longestValue) remembered.set(value, found)
      }
      return found
    },
  }
}
