import { type Static, Type } from '@sinclair/typebox';
import { ActorName, NextToken, SourceFilter, Timestamp, Token } from '../schema/common.ts';
import { FilterTime, Limit } from '../schema/kinds.ts';

/** The actions in security logs; those after the blank line are only in the operator's log. */
export const AUDIT_ACTIONS = [
  'sign_in',
  'key.create',
  'key.change',
  'key.delete',
  'key.recovery.create',
  'key.recovery.remove',
  'key.recover',
  'key.reseal',
  'item.store',
  'item.decrypt',
  'item.update',
  'item.delete',
  'item.expire',
  'item.log',
  'vault.export',
  'vault.import',
  'endpoint.create',
  'endpoint.delete',
  'endpoint.expire',
  'endpoint.use',
  'rule.create',
  'rule.delete',
  'form.create',
  'form.change',
  'form.delete',
  'connection.create',
  'connection.change',
  'connection.delete',
  'subscription.create',
  'subscription.change',
  'subscription.delete',
  'subscription.test',
  'csr.create',
  'csr.delete',
  'certificate.create',
  'certificate.delete',
  'preference.set',
  'preference.delete',
  'proxy.send',
  'job.redeliver',
  'job.cancel',
  'compliance_certificate.read',
  'password.change',
  'credential.create',
  'credential.delete',
  'credential.roll',
  'credential.use',
  'person.create',
  'person.change',
  'person.invite',
  'person.delete',
  'person.signin',
  'person.passkey.add',
  'person.passkey.delete',
  'audit.read',
  'account.create',
  'account.change',
  'account.suspend',
  'account.resume',
  'account.delete',

  'server.start',
  'server.stop',
  'bins.load',
  'compliance_certificate.load',
  'backup.create',
  'backup.restore',
  'store.compact',
  'master_key.rotate',
  'root.rotate',
  'audit.expire',
] as const;

export const AuditAction = Type.Union(
  AUDIT_ACTIONS.map((action) => Type.Literal(action)),
  { description: 'The action that was performed or attempted.', examples: ['key.create'] },
);
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export const AuditQuery = Type.Object({
  action: Type.Optional(AuditAction),
  token: Type.Optional(Token),
  actor: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Only entries of this actor, as `actor` of the entries has it.',
      examples: ['credential/cred_Zm9vYmFyYmF6cXV4cXV1eA'],
    }),
  ),
  source_ip: Type.Optional(SourceFilter),
  outcome: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Only entries with this outcome: `success`, or an error code.',
      examples: ['passphrase_wrong'],
    }),
  ),
  after: Type.Optional(FilterTime('Only entries at or after this time (UTC).')),
  before: Type.Optional(FilterTime('Only entries before this time (UTC).')),
  limit: Limit(1024),
  next_token: Type.Optional(NextToken),
});

export const AuditEntry = Type.Object(
  {
    id: Type.String({
      description: 'The number of the entry in the log of the account; numbers are consecutive.',
      examples: ['4711'],
    }),
    time: Timestamp('The time of the event, by the clock of the server.'),
    action: AuditAction,
    outcome: Type.String({
      description: '`success`, or the error code of the reply.',
      examples: ['success', 'passphrase_wrong'],
    }),
    actor: Type.String({
      description:
        'Who performed it: `account/NAME`, `credential/ID` for an API credential, `person/ID` for a person who has signed in, `endpoint/ID` for a holder of its secret, `operator`, `vault` for the service itself, or `anonymous`.',
      examples: ['account/shop'],
    }),
    actor_name: Type.Optional(ActorName),
    source_ip: Type.String({
      description:
        'The address of the caller; empty if there is none, or if the entry combines events from several addresses.',
      examples: ['203.0.113.7'],
    }),
    user_agent: Type.String({
      description: 'The User-Agent header of the caller; empty if there is none.',
      examples: ['shop/1.0'],
    }),
    request_id: Type.String({
      description: 'The X-Request-Id of the request.',
      examples: ['Zm9vYmFyYmF6cXV4'],
    }),
    object: Type.Optional(
      Type.String({
        description:
          'The object of the action: `key/USER`, `item/USER/TOKEN`, `endpoint/ID`, `rule/ID` and so on.',
        examples: ['key/customers-2026'],
      }),
    ),
    count: Type.Optional(
      Type.Integer({
        description: 'The number of similar errors that this entry combines; 1 if omitted.',
        examples: [250],
      }),
    ),
  },
  { $id: 'AuditEntry', description: 'One event of the security log.' },
);
export type AuditEntry = Static<typeof AuditEntry>;

export const AuditEntries = Type.Array(AuditEntry, { description: 'Newest first.' });
