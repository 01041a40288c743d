import { Act } from './actions.tsx'
import { useApi } from './api-context.ts'
import { formatCounted } from './format.ts'
import { useNotify } from './notices.tsx'
import { linkTo } from './route.ts'

/** What can be done with a URL in a list. */
export function UrlActions({
  url,
  purges = true,
  onChanged,
}: {
  url: string
  /** False where the page is known to be gone. */
  purges?: boolean
  onChanged?: () => void
}) {
  const api = useApi()
  const purge = async () => {
    const { pagesRemoved } = await api.post<{ pagesRemoved: number }>('vendor-cache/purge', { urls: [url] })
    onChanged?.()
    return `${formatCounted(pagesRemoved, 'page')} removed.`
  }
  const warm = async () => {
    await api.post('vendor-cache/warmup/start', { urls: [url], force: true })
    onChanged?.()
    return 'Warmup of 1 URL started.'
  }
  return (
    <span class="row-actions">
      <a class="button" href={linkTo('pages', { inspect: url })} aria-label={`Inspect ${url}`}>
        Inspect
      </a>
      {purges ? <Act label="Purge" name={`Purge ${url}`} act={purge} /> : null}
      <Act label="Warm" name={`Warm ${url}`} act={warm} />
      <Copy text={url} />
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
