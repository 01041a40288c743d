import { useLayoutEffect, useState } from 'preact/hooks'

/** What the page shows: the fragment of its URL, so that reload, back and links work. `#pages?type=cms` is the view `pages`. */
interface Route {
  view: string
  params: Readonly<Record<string, string>>
}

export type Params = Readonly<Record<string, string | undefined>>

/** The link to a view. Empty parameters are left out. */
export function linkTo(view: string, params: Params = {}): string {
  const filled = Object.entries(params).filter((entry): entry is [string, string] => !!entry[1])
  return filled.length === 0 ? `#${view}` : `#${view}?${new URLSearchParams(filled)}`
}

interface LiveRoute extends Route {
  /** Changes some parameters, in a new browser history entry or in the current one. */
  change(params: Params, mode?: 'push' | 'replace'): void
}

export function useRoute(): LiveRoute {
  const [hash, setHash] = useState(location.hash)
  // Not an effect, which waits for the next frame: the URL may change before.
  useLayoutEffect(() => {
    const follow = () => setHash(location.hash)
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  const route = parse(hash)
  return {
    ...route,
    change: (params, mode = 'push') => {
      const now = parse(location.hash)
      const link = linkTo(now.view, { ...now.params, ...params })
      if (mode === 'push') location.hash = link
      else location.replace(link)
    },
  }
}

function parse(hash: string): Route {
  const [view = '', search = ''] = hash.slice(1).split(/\?(.*)/s)
  return { view, params: Object.fromEntries(new URLSearchParams(search)) }
}
