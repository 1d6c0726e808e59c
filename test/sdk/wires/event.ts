import type { Wire } from '../wires.ts';

const settings = {
  url: 'https://shop.example.com/events',
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  types: ['item.created', 'key.*'] as ('item.created' | 'key.*')[],
};
const id = 'sub_kLTVMUsdDPoVaCqL3bPlMt';

/** What the methods of event subscriptions send. */
export const EVENTS: Readonly<Record<string, Wire>> = {
  'events.create': {
    call: ({ client }) => client.events.create(settings),
    request: 'POST /v1/event/subscription',
    body: settings,
  },
  'events.list': { call: ({ client }) => client.events.list(), request: 'GET /v1/event/subscription' },
  'events.get': {
    call: ({ client }) => client.events.get({ id }),
    request: `GET /v1/event/subscription/${id}`,
  },
  'events.replace': {
    call: ({ client }) => client.events.replace({ id, ...settings }),
    request: `PUT /v1/event/subscription/${id}`,
    body: settings,
  },
  'events.delete': {
    call: ({ client }) => client.events.delete({ id }),
    request: `DELETE /v1/event/subscription/${id}`,
  },
  'events.test': {
    call: ({ client }) => client.events.test({ id }),
    request: `POST /v1/event/subscription/${id}/test`,
  },
};
