import { Type } from '@sinclair/typebox';
import { HEADER_TEXT_PATTERN, WEBHOOK_SECRET_EXPECTED, WEBHOOK_SECRET_PATTERN } from '../core/third-party.ts';
import { EXPECTED, PUBLISHED } from './kinds.ts';

/** The members of a webhook in a body. */
export const WEBHOOK_MEMBERS = {
  url: Type.String({
    pattern: '^https://',
    maxLength: 2048,
    [EXPECTED]: 'must begin with `https://` and have at most 2048 characters',
    description: 'The https URL that receives the result.',
    examples: ['https://shop.example.com/webhooks'],
  }),
  secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      pattern: WEBHOOK_SECRET_PATTERN,
      [EXPECTED]: WEBHOOK_SECRET_EXPECTED,
      [PUBLISHED]: { pattern: HEADER_TEXT_PATTERN },
      'x-secret': true,
      description:
        'The secret that signs webhooks (Standard Webhooks) and is sent as X-Vault-Webhook-Secret: `whsec_` and Base64 of at least 24 bytes, or any other text that is valid in a header. `whsk_` and `whpk_`, the asymmetric keys of Standard Webhooks, are refused. If omitted, webhooks are not signed.',
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    }),
  ),
  max_attempts: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 8,
      description: 'Maximum number of delivery attempts until a reply with 200. Default: 8.',
    }),
  ),
  metadata: Type.Optional(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          "Members to add to the webhook's body, at most 64 KB. Members with a name that the webhook uses itself are ignored.",
        examples: [{ order: '4711' }],
      },
    ),
  ),
};
