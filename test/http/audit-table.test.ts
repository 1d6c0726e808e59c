import { expect, test } from 'bun:test';
import { AUDIT_ACTIONS } from '../../server/audit/schema.ts';
import { ROUTES } from '../../server/boot/routes.ts';
import { routeErrors } from '../../server/http/route.ts';

/** Routes that leave nothing in the security log, and why that is enough. */
const UNLOGGED: Readonly<Record<string, string>> = {
  checkLuhn: 'touches nothing that is stored',
  generatePassphrase: 'touches nothing that is stored',
  whoami: 'shows the name that signed in, which is an entry',
  listCaptureEndpoints: 'shows names alone',
  listRetrieveEndpoints: 'shows names alone',
  listKeys: 'shows names alone',
  readRecovery: 'shows what only custodians can open, and may have',
  listForms: 'shows what everybody may load',
  listCaptureForms: 'shows what everybody may load',
  showForm: 'is public',
  showCaptureForm: 'is public',
  readRules: 'shows operations, which hold no data',
  listOperations: 'shows constants',
  testRule: 'keeps nothing, and shows its sender what he has sent',
  listConnections: 'shows no value of a credential',
  readConnection: 'shows no value of a credential',
  readCsrs: 'shows what was made to be shown',
  readCertificates: 'shows what was made to be shown',
  listCredentials: 'shows what was made to be shown',
  readCredential: 'shows what was made to be shown',
  listAccounts: 'shows names and rights',
  readAccount: 'shows a name and rights',
  listSubscriptions: 'shows no secret',
  readSubscription: 'shows no secret',
  listPeople: 'shows no secret',
  listRoles: 'says the same to everybody',
  readPerson: 'shows no secret',
  readSelf: 'shows no secret',
  beginInvitation: 'people note that an invitation is used',
  acceptInvitation: 'passkeys note it themselves',
  beginSignIn: 'says nothing, and nothing is done',
  signIn: 'passkeys note it themselves',
  beginPasskey: 'nothing is done',
  beginPassphrase: 'nothing is done',
  listKeptPassphrases: 'shows what only the passkey opens',
  signOut: 'ends what the sign-in has noted; sessions note themselves when all end',
  listJobs: 'shows what was made to be shown',
  readJob: 'shows what was made to be shown',
  readBilling: 'shows counts',
  readUsage: 'shows counts',
  listExpiring: 'shows dates',
  readPreferences: 'shows what the account has set for itself',
  checkCaptureEndpoint: 'endpoints note their refusals themselves, and nothing is done',
  readNetworks: 'shows what an issuer publishes, and nothing is done',
  readReseal: 'shows counts',
  beginOidc: 'nobody is known yet; the sign-in is an entry at its end',
  getSealingKey: 'says the same to everybody, and nothing is done',
  listInbounds: 'shows no secret',
  readInbound: 'shows no secret',
  ...Object.fromEntries(
    ['Get', 'Post', 'Put', 'Patch', 'Delete', 'Options'].map((name) => [
      `inbound${name}`,
      'endpoints note their refusals themselves, and items their successes',
    ]),
  ),
  capture: 'endpoints note their refusals themselves, and items their successes',
  retrieve: 'endpoints note their refusals themselves, and items their successes',
};

test('a route declares what it leaves in the security log, or has a reason not to', () => {
  const unlogged = ROUTES.filter(({ audit }) => audit === undefined).map(({ operationId }) => operationId);
  expect(unlogged.sort()).toEqual(Object.keys(UNLOGGED).sort());
  const actions = ROUTES.flatMap(({ audit }) => audit?.action ?? []);
  expect(actions.filter((action) => !AUDIT_ACTIONS.includes(action))).toEqual([]);
});

test('a change without a log of its own is noted also when it succeeds', () => {
  const changes = ROUTES.filter(({ method, audit }) => method !== 'GET' && audit?.of === 'errors');
  expect(changes.filter((route) => !routeErrors(route).includes('passphrase_wrong'))).toEqual([]);
});
