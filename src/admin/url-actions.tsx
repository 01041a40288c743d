import { Act } from './actions.tsx'
import type { Purged } from './answers.ts'
import { useApi } from './api-context.ts'
import { formatCounted, unconfirmedText } from './format.ts'
import { useNotify } from './notices.tsx'
import { linkTo } from './route.ts'

/** The actions for a URL in a list. */
export function UrlActions({ url, onChanged }: { url: string; onChanged?: () => void }) {
  return <Actions name={url} link={linkTo('pages', { inspect: url })} target={{ urls: [url] }} onChanged={onChanged} />
}

/** The actions for a tag in a list. */
export function TagActions({ tag }: { tag: string }) {
  return <Actions name={tag} link={linkTo('pages', { tag })} target={{ tags: [tag] }} />
}

function Actions({
  name,
  link,
  target,
  onChanged,
}: {
  name: string
  /** Link target of *Inspect*. */
  link: string
  /** The value to purge and warm, unshortened as in the API. */
  target: { urls: readonly string[] } | { tags: readonly string[] }
  onChanged?: (() => void) | undefined
}) {
  const api = useApi()
  const purge = async () => {
    const { pagesRemoved, unconfirmed } = await api.post<Purged>('vendor-cache/purge', target)
    onChanged?.()
    return `${formatCounted(pagesRemoved, 'page')} removed.${unconfirmedText(unconfirmed)}`
  }
  const warm = async () => {
    const started = await api.post<{ totalUrls: number }>('vendor-cache/warmup/start', { ...target, force: true })
    onChanged?.()
    return `Warmup of ${formatCounted(started.totalUrls, 'URL')} started.`
  }
  return (
    <span class="row-actions">
      <a class="button" href={link} aria-label={`Inspect ${name}`}>
        Inspect
      </a>
      <Act label="Purge" name={`Purge ${name}`} act={purge} />
      <Act label="Warm" name={`Warm ${name}`} act={warm} />
      <Copy text={name} />
    </span>
  )
}

export function Copy({ text }: { text: string }) {
  const notify = useNotify()
  const copy = () =>
    write(text).then(
      () => notify('Copied.'),
      () => notify('The browser does not allow copying.', true),
    )
  return (
    <button type="button" aria-label={`Copy ${text}`} onClick={copy}>
      Copy
    </button>
  )
}

/** Browsers have a clipboard API over TLS and on this machine only. */
async function write(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'unseen'
  document.body.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (!copied) throw new Error('not copied')
}
