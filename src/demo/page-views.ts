import { escapeHtml } from '../lib/safe-text.ts'
import type { Catalogue, Category, ContentPage, Product } from './catalogue.ts'
import type { ChannelView, ShopChannel } from './channel.ts'
import { finishes, labels, type Finish } from './vocabulary.ts'

/** Products per page of a listing. */
const pageSize = 8

export function listingPages(category: Category): number {
  return Math.ceil(category.products.length / pageSize)
}

export function renderHome(page: ContentPage, catalogue: Catalogue, channel: ChannelView): string {
  const { language } = channel
  const tops = catalogue.categories.filter((category) => category.parent === null)
  const sections = tops.map(
    (category) => `<h2><a href="${linkTo(channel, category)}">${escapeHtml(category.name[language])}</a></h2>
<p class="lead">${category.intro[language]}</p>
${renderGrid(
  category.products.filter((_, index) => index % 12 === 3),
  channel,
)}`,
  )
  return `<div class="hero"><img src="/media/home.svg" alt="" width="1200" height="320"></div>
<h1>${page.title[language]}</h1>
<p class="lead">${page.paragraphs[language].slice(0, 3).join(' ')}</p>
${sections.join('\n')}`
}

export function renderContent(page: ContentPage, channel: ShopChannel): string {
  const { language } = channel
  const paragraphs = page.paragraphs[language].map((text) => `<p>${text}</p>`).join('\n')
  return `${renderCrumbs(channel, [])}<h1>${escapeHtml(page.title[language])}</h1>
<div class="hero"><img src="/media/${page.path.en}.svg" alt="" width="1200" height="320"></div>
<div class="lead">${paragraphs}</div>`
}

/** Renders the page of a category (`number` 1) or a further page of its listing. */
export function renderListing(category: Category, number: number, channel: ChannelView): string {
  const { language } = channel
  const say = labels[language]
  const shown = category.products.slice((number - 1) * pageSize, number * pageSize)
  const numbers = Array.from({ length: listingPages(category) }, (_, index) => index + 1)
  const pager = numbers.map((each) => {
    if (each === number) return `<b>${each}</b>`
    return `<a href="${linkTo(channel, category)}${each === 1 ? '' : `?p=${each}`}">${each}</a>`
  })
  const hero =
    number === 1
      ? `<div class="hero"><img src="/media/${category.id.slice(0, 8)}.svg" alt="" width="1200" height="320"></div>`
      : ''
  return `${renderCrumbs(channel, category.parent === null ? [] : [category.parent])}<h1>${escapeHtml(category.name[language])}${number === 1 ? '' : `, ${say.page} ${number}`}</h1>
<p class="lead">${category.intro[language]}</p>
${hero}
${renderGrid(shown, channel)}
<div class="pages">${pager.join('')}</div>
<h2>${say.popular}</h2>
${renderGrid(category.products.filter((product) => !shown.includes(product)).slice(-8), channel)}
<h2>${say.details}</h2>
${category.advice.map((text) => `<p class="lead">${text[language]}</p>`).join('\n')}`
}

export function renderProduct(product: Product, channel: ChannelView): string {
  const { language } = channel
  const say = labels[language]
  const rows = [
    [say.article, product.number],
    [say.material, product.material[language]],
    [say.size, `${product.size[0]} × ${product.size[1]} cm`],
    [say.weight, `${product.weight} g`],
  ]
    .map(([name, value]) => `<tr><th>${name}</th><td>${value}</td></tr>`)
    .join('')
  const reviews = product.reviews.map(
    (review) =>
      `<div class="review"><span class="stars">${'★'.repeat(review.stars)}${'☆'.repeat(5 - review.stars)}</span> <b>${review.name}</b><p>${review.text[language]}</p></div>`,
  )
  const related = product.category.products.filter((other) => other !== product).slice(0, 8)
  return `${renderCrumbs(
    channel,
    [product.category.parent, product.category].filter((each) => each !== null),
  )}
<div class="detail">
<img src="/media/${product.image}.png" alt="${escapeHtml(product.name[language])}" width="240" height="240">
<div><h1>${escapeHtml(product.name[language])}</h1>
<p>${product.description[language][0]}</p>
${renderBuybox(product, null, channel)}
<table>${rows}</table></div>
</div>
<h2>${say.details}</h2>
${product.description[language]
  .slice(1)
  .map((text) => `<p class="lead">${text}</p>`)
  .join('\n')}
<h2>${say.reviews}</h2>
${reviews.join('\n')}
<h2>${say.related}</h2>
${renderGrid(related, channel)}`
}

/** Renders the part of a product page that is replaced when the visitor chooses a finish. */
export function renderBuybox(product: Product, chosen: Finish | null, channel: ChannelView): string {
  const { language, prefix } = channel
  const say = labels[language]
  const choices = product.finishes.map((finish) => {
    const name = finishes[finish][language]
    return finish === chosen
      ? `<b>${name}</b>`
      : `<a href="${prefix}${buyboxPath(product, finish).replace('&', '&amp;')}">${name}</a>`
  })
  return `<div class="buybox" data-product="${product.id}">
<p class="price">${channel.price(product.price)}</p>
<p>${say.tax}<br>${say.delivery}</p>
${choices.length === 0 ? '' : `<p class="pages">${say.finish}: ${choices.join('')}</p>`}
<form method="post" action="${prefix}/checkout/line-item/add">
<input type="hidden" name="productId" value="${product.id}">
<label>${say.quantity} <input name="quantity" type="number" min="1" max="99" value="1"></label>
<button>${say.add}</button>
</form>
</div>`
}

/** Path and query of a buybox fragment, with the parameters in alphabetical order. */
export function buyboxPath(product: Product, finish: Finish): string {
  return `/widgets/buybox/${product.id}?elementId=buybox&option=${finish}`
}

function renderGrid(products: readonly Product[], channel: ChannelView): string {
  const { language, prefix } = channel
  const say = labels[language]
  const cards = products.map(
    (
      product,
    ) => `<li><a class="card" href="${prefix}/${product.path[language]}" title="${escapeHtml(product.name[language])}">
<img src="/media/${product.image}.png" srcset="/media/${product.image}.png 240w" sizes="(min-width: 760px) 25vw, 50vw" alt="${escapeHtml(product.name[language])}" width="240" height="240" loading="lazy" decoding="async">
<h3>${escapeHtml(product.name[language])}</h3>
<p>${product.material[language]}. ${product.description[language][0]}</p>
<span class="price">${product.finishes.length > 0 ? `${say.from} ` : ''}${channel.price(product.price)}</span>
</a></li>`,
  )
  return `<ul class="grid">${cards.join('\n')}</ul>`
}

function renderCrumbs(channel: ShopChannel, categories: readonly Category[]): string {
  const links = categories.map(
    (category) => ` / <a href="${linkTo(channel, category)}">${escapeHtml(category.name[channel.language])}</a>`,
  )
  return `<p class="crumbs"><a href="${channel.prefix}/">${labels[channel.language].home}</a>${links.join('')}</p>`
}

function linkTo(channel: ShopChannel, category: Category): string {
  return `${channel.prefix}/${category.path[channel.language]}`
}
