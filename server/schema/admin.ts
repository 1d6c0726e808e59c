import { type Static, Type } from '@sinclair/typebox';

export const WhoAmI = Type.Object(
  {
    user: Type.String({ description: 'The name of the account.', examples: ['shop'] }),
    environment: Type.Union([Type.Literal('staging'), Type.Literal('production')]),
    api_version: Type.String({ description: 'The version of the server.', examples: ['0.1.0'] }),
    backwards_compatibility: Type.Literal('v1', {
      description: 'The version prefix whose promises the server keeps.',
    }),
  },
  { $id: 'WhoAmI' },
);
export type WhoAmI = Static<typeof WhoAmI>;
