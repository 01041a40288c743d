import { dayLength } from '../lib/moment.ts'
import { between, createRandom, idOf, pick, type Random } from './random.ts'
import {
  assortment,
  contentPages,
  finishKeys,
  materials,
  reviewers,
  sentences,
  series,
  type Finish,
  type Language,
  type Text,
} from './vocabulary.ts'

export interface Category {
  id: string
  name: Text
  /** Path in each language, without leading and trailing slashes. */
  path: Text
  parent: Category | null
  children: Category[]
  /** The products of a leaf category, or of all leaves below. */
  products: Product[]
  cmsPageId: string
  intro: Text
  /** Paragraphs shown below the products. */
  advice: readonly Text[]
}

interface Review {
  name: string
  stars: number
  text: Text
}

export interface Product {
  id: string
  number: string
  name: Text
  path: Text
  category: Category
  /** Cents. */
  price: number
  image: string
  finishes: readonly Finish[]
  material: Text
  /** Centimetres and grams. */
  size: readonly [number, number]
  weight: number
  description: Readonly<Record<Language, readonly string[]>>
  reviews: readonly Review[]
  updatedAt: Date
}

export interface ContentPage {
  id: string
  title: Text
  path: Text
  paragraphs: Readonly<Record<Language, readonly string[]>>
  updatedAt: Date
}

export interface Catalogue {
  categories: readonly Category[]
  products: readonly Product[]
  contentPages: readonly ContentPage[]
  home: ContentPage
}

/** Fixed, so that sitemaps and validators are identical on every machine and day. */
const lastEdit = Date.UTC(2026, 9, 31)

/** Generates the catalogue of the demo shop. A seed always gives the same catalogue. As in Shopware, both languages share the records. */
export function createCatalogue(seed: string): Catalogue {
  const random = createRandom(seed)
  const categories = assortment.flatMap((branch) => {
    const top = createCategory(branch.name, null, random)
    const leaves = branch.leaves.map((leaf) => {
      const category = createCategory(leaf.name, top, random)
      category.products = series.map((name, index) => createProduct(name, leaf.product, category, index, random))
      return category
    })
    top.children = leaves
    top.products = leaves.flatMap((leaf) => leaf.products)
    return [top, ...leaves]
  })
  return {
    categories,
    products: categories.filter((category) => category.parent !== null).flatMap((category) => category.products),
    contentPages: contentPages.map((page) => createContentPage(page.title, page.slug, random)),
    home: createContentPage(
      { en: 'Good things, made to last', de: 'Gute Dinge, die bleiben' },
      { en: '', de: '' },
      random,
    ),
  }
}

function createCategory(name: Text, parent: Category | null, random: Random): Category {
  const id = idOf(`category:${parent?.name.en ?? ''}/${name.en}`)
  const path = bothLanguages((language) =>
    parent === null ? slug(name[language]) : `${parent.path[language]}/${slug(name[language])}`,
  )
  const advice = Array.from({ length: 6 }, () => text(random, 6))
  return {
    id,
    name,
    path,
    parent,
    children: [],
    products: [],
    cmsPageId: idOf('cms:listing'),
    intro: text(random, 3),
    advice,
  }
}

function createProduct(line: string, noun: Text, category: Category, index: number, random: Random): Product {
  const name = { en: `${line} ${noun.en}`, de: `${noun.de} ${line}` }
  const number = `HP-${idOf(name.en).slice(0, 6).toUpperCase()}`
  const paragraphs = Array.from({ length: 8 }, () => text(random, 7))
  return {
    id: idOf(`product:${name.en}`),
    number,
    name,
    path: bothLanguages((language) => `${slug(name[language])}/${number}`),
    category,
    price: between(random, 9, 240) * 100 + pick(random, [0, 50, 90, 95]),
    image: slug(name.en),
    finishes: index < 2 ? finishKeys : [],
    material: pick(random, materials),
    size: [between(random, 10, 180), between(random, 8, 90)],
    weight: between(random, 120, 9_000),
    description: bothLanguages((language) => paragraphs.map((paragraph) => paragraph[language])),
    reviews: Array.from({ length: between(random, 9, 14) }, () => ({
      name: pick(random, reviewers),
      stars: between(random, 3, 5),
      text: text(random, 6),
    })),
    updatedAt: new Date(lastEdit - between(random, 0, 150) * dayLength),
  }
}

function createContentPage(title: Text, path: Text, random: Random): ContentPage {
  const paragraphs = Array.from({ length: 26 }, () => text(random, 8))
  return {
    id: idOf(`cms:${title.en}`),
    title,
    path,
    paragraphs: bothLanguages((language) => paragraphs.map((paragraph) => paragraph[language])),
    updatedAt: new Date(lastEdit - between(random, 0, 300) * dayLength),
  }
}

/** The same sentences in both languages. */
function text(random: Random, length: number): Text {
  const chosen = Array.from({ length }, () => between(random, 0, sentences.en.length - 1))
  return bothLanguages((language) => chosen.map((index) => sentences[language][index]).join(' '))
}

function bothLanguages<T>(make: (language: Language) => T): Readonly<Record<Language, T>> {
  return { en: make('en'), de: make('de') }
}

/** A path segment as generated by Shopware's slugify: ASCII, umlauts transliterated. */
function slug(name: string): string {
  const written = name
    .toLowerCase()
    .replaceAll('ä', 'ae')
    .replaceAll('ö', 'oe')
    .replaceAll('ü', 'ue')
    .replaceAll('ß', 'ss')
  return written.replace(/[^a-z0-9]+/g, '-')
}
