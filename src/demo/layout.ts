import { escapeHtml } from '../lib/safe-text.ts'
import type { Catalogue, Category } from './catalogue.ts'
import type { ShopChannel } from './channel.ts'
import type { Context } from './shopware.ts'
import { labels } from './vocabulary.ts'

interface Sheet {
  title: string
  description: string
  /** Public URL of the page; null for private pages and errors (account, basket, 404). */
  canonical: string | null
  /** Page type for the storefront script; null for pages without stages. */
  pageType: string | null
  body: string
}

export interface Layout {
  /** @param asFragments whether header and footer are included by the cache in front */
  page(sheet: Sheet, context: Context, asFragments: boolean): string
  header(context: Context): string
  footer(): string
}

/** Paths of the fragments, below the channel's prefix. */
export const fragmentPaths = { header: '/_esi/global/header', footer: '/_esi/global/footer' } as const

const style = `
:root{--ink:#22302c;--soft:#6b7a74;--line:#e3e1da;--paper:#fbfaf7;--accent:#1f6f5c;--warm:#c9562b;color-scheme:light}
*{box-sizing:border-box}
body{margin:0;font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;color:var(--ink);background:var(--paper)}
a{color:inherit;text-decoration:none}a:hover{color:var(--accent)}
img{display:block;max-width:100%;height:auto}
.wrap{max-width:1120px;margin:0 auto;padding:0 24px}
.top{display:flex;align-items:center;gap:24px;padding-block:18px}
.brand{font:600 24px/1 Georgia,"Times New Roman",serif;letter-spacing:.02em;margin-right:auto}
.top a:not(.brand){font-size:14px;color:var(--soft)}
.who{font-size:14px;font-weight:600;color:var(--accent)}
.badge{display:inline-block;min-width:20px;padding:0 6px;border-radius:10px;background:var(--warm);color:#fff;font-size:12px;text-align:center}
.badge:empty{display:none}
nav.main{background:#fff;border-block:1px solid var(--line)}
nav.main>ul{display:flex;gap:8px;margin:0 auto;padding:0 24px;max-width:1120px;list-style:none}
nav.main li{position:relative}
nav.main>ul>li>a{display:block;padding:14px 12px;font-weight:600}
nav.main ul ul{display:none;position:absolute;z-index:2;left:0;min-width:190px;margin:0;padding:8px 0;list-style:none;background:#fff;border:1px solid var(--line);border-radius:0 0 8px 8px;box-shadow:0 12px 28px #22302c1a}
nav.main li:hover ul,nav.main li:focus-within ul{display:block}
nav.main ul ul a{display:block;padding:6px 16px}
.crumbs{margin:20px 0 0;font-size:13px;color:var(--soft)}
h1{font:600 34px/1.2 Georgia,"Times New Roman",serif;margin:16px 0 12px}
h2{font:600 22px/1.3 Georgia,"Times New Roman",serif;margin:40px 0 16px}
.lead{max-width:64ch;color:var(--soft)}
.hero{margin:24px 0;border-radius:14px;overflow:hidden}
.hero img{width:100%}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(220px,1fr));gap:24px;margin:24px 0;padding:0;list-style:none}
.card{display:flex;flex-direction:column;height:100%;padding:14px;background:#fff;border:1px solid var(--line);border-radius:12px;transition:box-shadow .15s}
.card:hover{box-shadow:0 10px 26px #22302c1f}
.card img{width:100%;border-radius:8px}
.card h3{margin:12px 0 4px;font-size:17px}
.card p{margin:0 0 10px;font-size:14px;color:var(--soft)}
.price{margin-top:auto;font-weight:700;color:var(--accent)}
.stars{color:var(--warm);letter-spacing:2px}
.detail{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:40px;margin:24px 0}
@media(max-width:760px){.detail{grid-template-columns:1fr}nav.main>ul{flex-wrap:wrap}}
.detail>img{width:100%;border-radius:14px;background:#fff}
.buybox{padding:20px;background:#fff;border:1px solid var(--line);border-radius:12px}
.buybox .price{font-size:28px}
button,.button{display:inline-block;padding:12px 22px;border:0;border-radius:8px;background:var(--accent);color:#fff;font:600 16px/1 inherit;cursor:pointer}
button:hover{background:#17594a}
input{width:100%;margin:4px 0 14px;padding:10px;border:1px solid var(--line);border-radius:8px;font:inherit}
table{border-collapse:collapse;width:100%}th,td{padding:8px 4px;border-bottom:1px solid var(--line);text-align:left}
.pages{display:flex;gap:8px;margin:24px 0}.pages a,.pages b{padding:6px 12px;border:1px solid var(--line);border-radius:8px;background:#fff}.pages b{background:var(--ink);color:#fff}
.review{padding:14px 0;border-bottom:1px solid var(--line)}
form.narrow{max-width:380px}
footer{margin-top:64px;padding:32px 0;background:#fff;border-top:1px solid var(--line);font-size:14px;color:var(--soft)}
footer ul{display:flex;flex-wrap:wrap;gap:8px 24px;margin:0;padding:0;list-style:none}`

/**
 * Makes the layout of a storefront's pages. The header links to the other storefronts.
 *
 * @param fronted whether a cache is in front of the shop, which serves the script of the popup stages
 */
export function createLayout(
  channel: ShopChannel,
  channels: readonly ShopChannel[],
  catalogue: Catalogue,
  fronted: boolean,
): Layout {
  const { language, prefix } = channel
  const say = labels[language]
  const name = escapeHtml(channel.name)
  const others = channels
    .filter((other) => other !== channel)
    .map((other) => `<a href="${other.prefix}/" hreflang="${other.language}">${say.other}</a>`)
    .join('')
  const foot = catalogue.contentPages
    .map((page) => `<li><a href="${prefix}/${page.path[language]}">${escapeHtml(page.title[language])}</a></li>`)
    .join('')
  const header = (context: Context) =>
    `${renderHeader(channel, others, context)}\n<nav class="main"><ul>${renderMenu(catalogue, channel)}</ul></nav>`
  const footer = () => `<footer><div class="wrap"><ul>${foot}</ul><p>${name}. ${say.tax}.</p></div></footer>`
  const include = (path: string) => `<esi:include src="${prefix}${path}" />`
  const page: Layout['page'] = (sheet, context, asFragments) => `<!DOCTYPE html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(sheet.title)} | ${name}</title>
<meta name="description" content="${escapeHtml(sheet.description)}">
${sheet.canonical === null ? '<meta name="robots" content="noindex">' : `<link rel="canonical" href="${escapeHtml(sheet.canonical)}">`}
<link rel="icon" href="/media/favicon.svg">
<style>${style}
</style>
</head>
<body>
${asFragments ? include(fragmentPaths.header) : header(context)}
<main class="wrap">
${sheet.body}
</main>
${asFragments ? include(fragmentPaths.footer) : footer()}
<script>${basketScript(prefix)}</script>
${sheet.pageType === null || !fronted ? '' : `<script src="${prefix}/vendor-stage/client.js" data-page-type="${sheet.pageType}" defer></script>`}
</body>
</html>
`
  return { page, header, footer }
}

/** Header of a page, without anything personal: the script fills in the number of items, so that all visitors of a context share it. */
function renderHeader(channel: ShopChannel, others: string, { group }: Context): string {
  const { language, prefix } = channel
  const say = labels[language]
  return `<header class="wrap top">
<a class="brand" href="${prefix}/">${escapeHtml(channel.name)}</a>
${group === 'dealers' ? `<span class="who">${say.dealers}</span>` : ''}
${others}
<a href="${prefix}/account">${say.account}</a>
<a href="${prefix}/checkout/cart">${say.basket} <span class="badge" id="basket-info"></span></a>
</header>`
}

/** Shows the number of items in the basket on cached pages, which are the same for all visitors. */
function basketScript(prefix: string): string {
  return `fetch(${JSON.stringify(`${prefix}/widgets/checkout/info`)}).then(r=>r.status===200?r.text():"").then(t=>{document.querySelector("#basket-info").textContent=t.replace(/[^0-9]/g,"")})`
}

function renderMenu(catalogue: Catalogue, channel: ShopChannel): string {
  const tops = catalogue.categories.filter((category) => category.parent === null)
  return tops.map((category) => renderMenuEntry(category, channel)).join('')
}

function renderMenuEntry(category: Category, { language, prefix }: ShopChannel): string {
  const leaves = category.children
    .map((leaf) => `<li><a href="${prefix}/${leaf.path[language]}">${escapeHtml(leaf.name[language])}</a></li>`)
    .join('\n')
  return `\n<li data-category="${category.id}"><a href="${prefix}/${category.path[language]}">${escapeHtml(category.name[language])}</a>\n<ul>${leaves}</ul></li>`
}
