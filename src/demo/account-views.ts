import { escapeHtml } from '../lib/safe-text.ts'
import type { ChannelView, ShopChannel } from './channel.ts'
import type { Product } from './catalogue.ts'
import { labels } from './vocabulary.ts'

export interface BasketLine {
  product: Product
  quantity: number
}

export function renderLogin(channel: ShopChannel, failed: boolean): string {
  const say = labels[channel.language]
  return `<h1>${say.login}</h1>
${failed ? `<p class="who">${say.wrong}</p>` : ''}<p class="lead">${say.hint}</p>
<form class="narrow" method="post" action="${channel.prefix}/account/login">
<label>${say.email} <input name="username" type="email" required></label>
<label>${say.password} <input name="password" type="password" required></label>
<button>${say.login}</button>
</form>`
}

export function renderAccount(channel: ShopChannel, name: string, email: string): string {
  const say = labels[channel.language]
  return `<h1>${say.hello} ${escapeHtml(name)}</h1>
<p class="lead">${escapeHtml(email)}</p>
<p><a class="button" href="${channel.prefix}/account/logout">${say.logout}</a></p>`
}

export function renderBasket(channel: ChannelView, lines: readonly BasketLine[]): string {
  const { language, prefix } = channel
  const say = labels[language]
  if (lines.length === 0) return `<h1>${say.basket}</h1><p class="lead">${say.empty}</p>`
  const rows = lines.map(
    ({ product, quantity }) =>
      `<tr><td><a href="${prefix}/${product.path[language]}">${escapeHtml(product.name[language])}</a></td><td>${quantity}</td><td>${channel.price(product.price * quantity)}</td></tr>`,
  )
  const total = lines.reduce((sum, line) => sum + line.product.price * line.quantity, 0)
  return `<h1>${say.basket}</h1>
<table>${rows.join('\n')}<tr><th>${say.total}</th><td></td><th>${channel.price(total)}</th></tr></table>`
}
