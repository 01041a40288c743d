import { privatePage, redirect, errorPage, type ShopResponse } from './response.ts'
import { renderAccount, renderBasket, renderLogin } from './account-views.ts'
import type { Catalogue } from './catalogue.ts'
import { currencies, viewOf } from './channel.ts'
import { contextOf, nameOf, type Session, type Sessions } from './session.ts'
import type { Site } from './site.ts'

/** A request for a private page of one visitor: account or basket. */
export interface VisitorRequest {
  method: string
  /** Path below the channel's prefix. */
  path: string
  form: URLSearchParams
  site: Site
  /** A route that begins or ends a session replaces it. */
  session: Session | null
  /** Set by the route that chooses a currency. */
  chosenCurrency?: string
}

type Route = (request: VisitorRequest, sessions: Sessions, catalogue: Catalogue) => ShopResponse

const routes: Readonly<Record<string, Readonly<Record<string, Route>>>> = {
  '/account': { GET: showAccount },
  '/account/login': { GET: showLogin, POST: login },
  '/account/logout': { GET: logout },
  '/checkout/cart': { GET: showBasket },
  '/checkout/offcanvas': { GET: showBasket },
  '/checkout/line-item/add': { POST: addToBasket },
  '/checkout/configure': { POST: chooseCurrency },
  '/widgets/checkout/info': { GET: showBasketInfo },
}

/** Demo customers log in with any e-mail address and this password. */
const password = 'demo'

/** Answers a request for account or basket; null for any other path. */
export function handleVisitor(request: VisitorRequest, sessions: Sessions, catalogue: Catalogue): ShopResponse | null {
  const byMethod = Object.hasOwn(routes, request.path) ? routes[request.path] : undefined
  if (byMethod === undefined) return null
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const route = Object.hasOwn(byMethod, method) ? byMethod[method] : undefined
  if (route === undefined) return errorPage(405, 'Method Not Allowed', { allow: Object.keys(byMethod).join(', ') })
  return route(request, sessions, catalogue)
}

function showAccount(request: VisitorRequest): ShopResponse {
  const { session, site } = request
  if (session === null || session.email === null) return redirect(`${site.channel.prefix}/account/login`)
  const name = nameOf(session.email)
  return privatePage(inLayout(request, name, renderAccount(site.channel, name, session.email)))
}

function showLogin(request: VisitorRequest): ShopResponse {
  return privatePage(inLayout(request, 'Login', renderLogin(request.site.channel, false)))
}

function login(request: VisitorRequest, sessions: Sessions): ShopResponse {
  const email = request.form.get('username') ?? ''
  if (!/^[^@\s]{1,64}@[^@\s]{1,190}$/.test(email) || request.form.get('password') !== password) {
    return privatePage(inLayout(request, 'Login', renderLogin(request.site.channel, true)), {}, 422)
  }
  // A new id at every login prevents session fixation.
  request.session = sessions.renew(request.session)
  request.session.email = email
  return redirect(`${request.site.channel.prefix}/account`)
}

function logout(request: VisitorRequest, sessions: Sessions): ShopResponse {
  if (request.session !== null) sessions.end(request.session)
  request.session = null
  return redirect(`${request.site.channel.prefix}/`)
}

function addToBasket(request: VisitorRequest, sessions: Sessions, catalogue: Catalogue): ShopResponse {
  const product = catalogue.products.find((each) => each.id === request.form.get('productId'))
  const quantity = Number(request.form.get('quantity') ?? '1')
  if (product === undefined || !Number.isInteger(quantity) || quantity < 1 || quantity > 99) {
    return errorPage(400, 'No such product or quantity')
  }
  const session = (request.session ??= sessions.renew(null))
  session.basket.set(product, Math.min(99, (session.basket.get(product) ?? 0) + quantity))
  return redirect(`${request.site.channel.prefix}/checkout/cart`)
}

function chooseCurrency(request: VisitorRequest, sessions: Sessions): ShopResponse {
  const currency = request.form.get('currencyId') ?? ''
  if (!Object.hasOwn(currencies, currency)) return errorPage(400, 'No such currency')
  const session = (request.session ??= sessions.renew(null))
  session.currency = currency
  request.chosenCurrency = currency
  return redirect(`${request.site.channel.prefix}/`)
}

function showBasket(request: VisitorRequest): ShopResponse {
  const { session, site } = request
  const lines = [...(session?.basket ?? [])].map(([product, quantity]) => ({ product, quantity }))
  return privatePage(inLayout(request, 'Basket', renderBasket(viewOf(site.channel, contextOf(session)), lines)))
}

/** The number of items, which a page's script shows next to the basket link; 204 if the basket is empty. */
function showBasketInfo(request: VisitorRequest): ShopResponse {
  const { items } = contextOf(request.session)
  if (items === 0) return { ...privatePage(''), status: 204 }
  return privatePage(`<span class="badge">${items}</span>`)
}

function inLayout(request: VisitorRequest, title: string, body: string): string {
  const { site, session } = request
  const sheet = { title, description: site.channel.name, canonical: null, pageType: null, body }
  return site.layout.page(sheet, contextOf(session), false)
}
