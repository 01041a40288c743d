import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { FunctionComponent } from 'preact'
import { createApi, restoreSession, type Renew, type Session } from './api.ts'
import { ApiContext } from './api-context.ts'
import { timeZone } from './format.ts'
import { forgetDrafts } from './kept-drafts.ts'
import { Login } from './login.tsx'
import { Notices } from './notices.tsx'
import { OverviewView } from './overview.tsx'
import { PagesView } from './pages.tsx'
import { PurgesView } from './purges.tsx'
import { QueueView } from './queue.tsx'
import { useRoute } from './route.ts'
import { StagesView } from './stages.tsx'
import { WarmupView } from './warmup.tsx'

const views: Record<string, { title: string; View: FunctionComponent }> = {
  overview: { title: 'Overview', View: OverviewView },
  warmup: { title: 'Warmup', View: WarmupView },
  purges: { title: 'Purges', View: PurgesView },
  pages: { title: 'Pages', View: PagesView },
  queue: { title: 'Queue and tasks', View: QueueView },
  stages: { title: 'Popup stages', View: StagesView },
}

type Login = { state: 'restoring' } | { state: 'out'; why: string } | { state: 'in'; session: Session; renew: Renew }

export function App() {
  const [login, setLogin] = useState<Login>({ state: 'restoring' })
  const out = (why: string) => setLogin({ state: 'out', why })
  useEffect(() => {
    restoreSession().then(
      (session) => (session === null ? out('') : setLogin({ state: 'in', session, renew: null })),
      (error: Error) => out(error.message),
    )
  }, [])
  if (login.state === 'restoring')
    return (
      <main class="login">
        <h1 class="loading">pagecache</h1>
      </main>
    )
  if (login.state === 'out')
    return <Login why={login.why} onSession={(session, renew) => setLogin({ state: 'in', session, renew })} />
  return <Shell {...login} onOut={out} />
}

function Shell({ session, renew, onOut }: { session: Session; renew: Renew; onOut(why: string): void }) {
  const api = useMemo(
    () =>
      createApi(session, renew, () =>
        onOut('The session has ended: it was logged out or has expired, or the client was revoked.'),
      ),
    [session],
  )
  const { view: name } = useRoute()
  const { title, View } = views[name] ?? views['overview']!
  // Without the daemon the cookie stays, but the page forgets the session.
  const logOut = () => {
    forgetDrafts()
    void api.logOut().then(
      () => onOut(''),
      (error: Error) => onOut(error.message),
    )
  }
  return (
    <ApiContext.Provider value={api}>
      <a class="skip" href="#content" onClick={(event) => skip(event)}>
        Skip to the content
      </a>
      <header class="top">
        <strong>pagecache</strong>
        <nav aria-label="Views">
          {Object.entries(views).map(([key, view]) => (
            <a key={key} href={`#${key}`} aria-current={view.title === title ? 'page' : undefined}>
              {view.title}
            </a>
          ))}
        </nav>
        <span class="who">
          <span title={`Client ${api.clientId}`}>
            {location.host}
            {api.canWrite ? '' : ' (read-only)'}
          </span>
          <span class="soft">Times in {timeZone}</span>
          <button type="button" onClick={logOut}>
            Log out
          </button>
        </span>
      </header>
      <Notices>
        <main id="content" tabIndex={-1}>
          <Heading key={title} title={title} />
          <View key={title} />
        </main>
      </Notices>
    </ApiContext.Provider>
  )
}

function skip(event: Event): void {
  // The fragment holds the name of the view and must not change.
  event.preventDefault()
  document.getElementById('content')?.focus()
}

/**
 * Takes the focus after the login and when the view changes, so that screen readers announce the view. Each view has a heading element
 * of its own, because an element that already has the focus is not announced again. It takes the focus before the first paint, because
 * later it would take it from a field in which the user already types.
 */
function Heading({ title }: { title: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    document.title = `${title} – pagecache`
    heading.current?.focus()
  }, [title])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {title}
    </h1>
  )
}
