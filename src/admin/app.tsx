import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { FunctionComponent } from 'preact'
import type { Api } from './api.ts'
import { Login } from './login.tsx'
import { OverviewView } from './overview.tsx'
import { PagesView } from './pages.tsx'
import { PurgesView } from './purges.tsx'
import { QueueView } from './queue.tsx'
import { ApiContext } from './api-context.ts'
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

export function App() {
  const [api, setApi] = useState<Api | null>(null)
  const name = useHash()
  if (!api) return <Login onApi={setApi} />
  const { title, View } = views[name] ?? views['overview']!
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
          <span title={`Client ${api.clientId}`}>{location.host}</span>{' '}
          <button type="button" onClick={() => setApi(null)}>
            Log out
          </button>
        </span>
      </header>
      <main id="content" tabIndex={-1}>
        <Heading key={title} title={title} />
        <View key={title} />
      </main>
    </ApiContext.Provider>
  )
}

function skip(event: Event): void {
  // The hash holds the name of the view and must not change.
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

function useHash(): string {
  const [hash, setHash] = useState(location.hash.slice(1))
  useEffect(() => {
    const follow = () => setHash(location.hash.slice(1))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return hash
}
