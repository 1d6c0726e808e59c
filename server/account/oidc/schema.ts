import { Type } from '@sinclair/typebox';

/** A body without members, so that a browser asks before it sends it from another site. */
export const BeginOidc = Type.Object({}, { description: 'Nothing.' });

export const BegunOidc = Type.Object({
  url: Type.String({
    description: 'The address at the provider where the person signs in. It leads back here.',
    examples: ['https://login.example.com/authorize?client_id=cardvault&response_type=code&scope=openid'],
  }),
});
