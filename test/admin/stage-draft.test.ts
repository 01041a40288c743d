import { expect, it } from 'vitest'
import { toChanges, toDraft } from '../../src/admin/stage-draft.ts'

const base = { ...toDraft(null), name: 'Summer', headline: 'Sale', html: '<p>Old</p>' }

it.each([
  [{ headline: 'Winter' }, { content: { headline: 'Winter' } }],
  [{ accent: '#102030', position: 'bar' as const }, { look: { accent: '#102030', position: 'bar' } }],
  [{ scroll: '40' }, { trigger: { scroll: 40 } }],
  [
    { pageTypes: 'cms', maxPerSession: '3' },
    { pageTypes: ['cms'], maxPerSession: 3 },
  ],
  [{ text: 'New', html: '' }, { content: { text: 'New', html: null } }],
  // Sent together, so that the API can refuse to keep both.
  [{ text: 'New' }, { content: { text: 'New', html: '<p>Old</p>' } }],
  [
    { action: 'url' as const, label: 'Buy', target: '/sale' },
    { content: { callToAction: { label: 'Buy', action: 'url', url: '/sale', selector: null } } },
  ],
  [{}, {}],
])('sends only the changed fields of a stage: %j', (fields, changes) => {
  expect(toChanges({ ...base, ...fields }, base)).toEqual(changes)
})
