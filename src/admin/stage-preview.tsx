import { useEffect, useRef, useState } from 'preact/hooks'
import type { StagePreview as Links } from './answers.ts'
import { Form } from './actions.tsx'
import { useApi } from './api-context.ts'
import type { Channel } from './urls.ts'
import { formatTime } from './format.ts'
import { Choices, Field } from './parts.tsx'
import { drawPage, drawStage } from './stage-frame.ts'
import { toContent, toLook, withLabels, type Draft } from './stage-draft.ts'

/** Width and height of the windows, in CSS pixels. */
const devices = { Desktop: [1280, 800], Phone: [390, 760] } as const
type Device = keyof typeof devices

/** Most pixels of the preview's height. */
const tallest = 520

/** Shows the stage as visitors will see it, while it is edited. */
export function StagePreview({ draft, channels }: { draft: Draft; channels: readonly Channel[] }) {
  const [device, setDevice] = useState<Device>('Desktop')
  const [dark, setDark] = useState(false)
  const [page, setPage] = useState<Document | null>(null)
  const [note, setNote] = useState('')
  const [room, width] = useWidth()
  const entrance = `${draft.entrance} ${draft.position}`
  const played = useRef(entrance)
  useEffect(() => {
    if (page === null) return
    const shown = channels.find(({ id }) => id === draft.salesChannelId) ?? channels[0]
    const scene = {
      content: { ...toContent(draft), closeLabel: 'Close' },
      look: toLook(draft),
      dark,
      // Typing does not play it again.
      plays: played.current !== entrance,
      shop: shown?.url ?? location.origin,
      origins: channels.map(({ url }) => new URL(url).origin),
    }
    played.current = entrance
    setNote(withLabels(drawStage(page, scene)))
  }, [page, draft, dark, channels])
  const [wide, high] = devices[device]
  const scale = Math.min(1, width / wide, tallest / high)
  return (
    <section aria-label="Preview">
      <div class="row">
        <Choices
          label="Device"
          of={Object.keys(devices) as Device[]}
          value={device}
          set={(name) => setDevice(name as Device)}
        />
        <Choices
          label="System"
          of={['Light', 'Dark']}
          value={dark ? 'Dark' : 'Light'}
          set={(name) => setDark(name === 'Dark')}
        />
      </div>
      <div ref={room}>
        <div class="stage-window" style={{ width: `${wide * scale}px`, height: `${high * scale}px` }}>
          <iframe
            title="The stage on a page of the shop"
            srcdoc="<!doctype html><html lang='en'><title>Preview</title>"
            sandbox="allow-same-origin"
            inert
            style={{ width: `${wide}px`, height: `${high}px`, transform: `scale(${scale})` }}
            onLoad={({ currentTarget }) => {
              drawPage(currentTarget.contentDocument!)
              setPage(currentTarget.contentDocument)
            }}
          />
        </div>
      </div>
      <p class="soft" role="status">
        {note}
      </p>
    </section>
  )
}

/** A ref for an element, and its width in CSS pixels. */
function useWidth() {
  const ref = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width))
    observer.observe(ref.current!)
    return () => observer.disconnect()
  }, [])
  return [ref, width] as const
}

/** Makes links that show a saved stage in the shop, without counting. */
export function PreviewLinks({ id }: { id: string }) {
  const api = useApi()
  const [path, setPath] = useState('/')
  const [made, setMade] = useState<Links | null>(null)
  const make = async () => {
    setMade(await api.post<Links>(`vendor-stage/stages/${id}/preview`, { path }))
    return ''
  }
  return (
    <section aria-label="Preview in the shop">
      <Form label="Make preview link" submit={make}>
        <Field label="Page of the shop" value={path} set={setPath} width="wide" />
      </Form>
      {made === null ? null : (
        <>
          <ul>
            {made.links.map(({ salesChannelId, name, url }) => (
              <li key={salesChannelId}>
                <a href={url} target="_blank" rel="noopener noreferrer">
                  Open in {name}
                </a>
              </li>
            ))}
          </ul>
          <p class="soft">
            Shows the stage as it was saved, on its trigger. Nothing is counted. Anyone with the link can use it until{' '}
            {formatTime(made.expiresAt)} UTC.
          </p>
        </>
      )}
    </section>
  )
}
