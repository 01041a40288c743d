import { describe, expect, it } from 'vitest'
import type { HeaderPair } from '../../src/pages/page.ts'
import { defaultTypeRules, typeResolver, type TypeRule } from '../../src/pages/type.ts'

const page = (more: { headers?: HeaderPair[]; tags?: string[]; target?: string } = {}) => ({
  headers: [],
  tags: [],
  target: '/',
  ...more,
})

describe('the default rules for a Shopware storefront', () => {
  const typeOf = typeResolver(defaultTypeRules)
  it.each([
    ['a product', { tags: ['product-0190c0de', 'theme'], target: '/Shoe/SW1' }, 'products'],
    ['a product without tags', { target: '/detail/0190c0de' }, 'products'],
    ['a category', { tags: ['category-route-1', 'product-listing-1', 'product-2'], target: '/Shoes/' }, 'categories'],
    ['a category without tags', { target: '/navigation/0190c0de' }, 'categories'],
    ['a listing', { tags: ['product-listing-1', 'product-2'], target: '/x' }, 'listings'],
    ['a second page of a category', { tags: ['category-route-1'], target: '/Shoes/?p=2' }, 'listings'],
    ['a sorted category', { tags: ['category-route-1'], target: '/Shoes/?a=1&order=price' }, 'listings'],
    ['a search', { target: '/search?search=shoe' }, 'listings'],
    ['a listing requested by a script', { target: '/widgets/cms/navigation/1?slots=2' }, 'listings'],
    ['a buy box', { tags: ['product-1'], target: '/detail/1/buybox/2' }, 'buybox'],
    ['a content page', { tags: ['cms-page-1'] }, 'cms'],
    ['a landing page', { tags: ['landing-page-route-1'] }, 'cms'],
    ['anything else', { target: '/imprint' }, 'cms'],
    ['a parameter that only ends in p', { tags: ['category-route-1'], target: '/Shoes/?shop=2' }, 'categories'],
  ] as const)('%s', (_, given, type) => {
    expect(typeOf(page({ ...given, tags: [...('tags' in given ? given.tags : [])] }))).toBe(type)
  })
})

describe('configured rules', () => {
  const typeOf = (...rules: TypeRule[]) => typeResolver([...rules, ...defaultTypeRules])

  it('precede the defaults, and the first match wins', () => {
    const resolve = typeOf({ type: 'buybox', tag: 'product-' }, { type: 'cms', tag: 'product-1' })
    expect(resolve(page({ tags: ['product-1'] }))).toBe('buybox')
  })

  it('match by field name, ignoring case, and by value', () => {
    const resolve = typeOf({ type: 'products', header: 'X-Type: prod*' }, { type: 'listings', header: 'x-list' })
    expect(resolve(page({ headers: [['x-TYPE', 'product']] }))).toBe('products')
    expect(resolve(page({ headers: [['X-Type', 'a product']] }))).toBe('cms')
    expect(resolve(page({ headers: [['X-List', 'anything']] }))).toBe('listings')
  })

  it('match by path, with only * and […] as special characters', () => {
    const resolve = typeOf(
      { type: 'products', path: '/p.html' },
      { type: 'categories', path: '/c[ab]/*' },
      { type: 'listings', path: '/(x+)+$' },
    )
    expect(resolve(page({ target: '/p.html' }))).toBe('products')
    expect(resolve(page({ target: '/pxhtml' }))).toBe('cms')
    expect(resolve(page({ target: '/ca/1?x=2' }))).toBe('categories')
    expect(resolve(page({ target: '/cc/1' }))).toBe('cms')
    expect(resolve(page({ target: '/(x+)+$' }))).toBe('listings')
    expect(resolve(page({ target: `/${'x'.repeat(5000)}` }))).toBe('cms')
  })

  it('take linear time with patterns that would backtrack', () => {
    const many = Array.from({ length: 50 }, (): TypeRule => ({ type: 'products', path: `${'/*'.repeat(20)}.html` }))
    const resolve = typeOf(...many, { type: 'products', header: `x-page: ${'*a'.repeat(30)}b` })
    expect(resolve(page({ target: `/?${'/'.repeat(8000)}`, headers: [['x-page', 'a'.repeat(8000)]] }))).toBe('cms')
    expect(resolve(page({ target: `/?${'/'.repeat(8000)}.html` }))).toBe('products')
  })
})
