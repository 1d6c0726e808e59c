import { VaultError } from '../core/errors.ts';
import { OPERATOR_SCOPE } from '../core/scopes.ts';
import { isOperator, type RequestContext } from '../request/context.ts';
import { outsideScope, personOf, requireKey, requireScope, requireSource } from '../request/permission.ts';
import { type Call, type RouteShape, scopesOf } from './route.ts';

/** Rejects a caller without rights for a route, before the request is decoded. */
export function authorizeRoute({ scope }: RouteShape, { account, ip }: RequestContext): void {
  if (account !== undefined && scope === OPERATOR_SCOPE && !isOperator(account)) {
    const expected = `must be \`${scope}\`, which only credentials of the operator have`;
    throw new VaultError('not_allowed', { field: 'scope', expected, scope });
  }
  if (account?.credential === undefined) {
    if (account !== undefined && scope === 'person') {
      personOf(account);
    }
    return;
  }
  requireSource(account, ip);
  if (scope !== OPERATOR_SCOPE && isOperator(account)) {
    throw outsideScope(account, 'this request: it manages accounts alone', scopesOf(scope)[0]);
  }
  if (scope === 'password') {
    throw outsideScope(account, 'this request: it needs the name and password of the account');
  }
  if (scope === 'person') {
    personOf(account);
  } else if (scope !== 'any' && scope !== 'none') {
    requireScope(account, ...scopesOf(scope));
  }
}

/** Rejects a credential without the right for a request: its scope, if the route has several, and its vault key. */
export function authorizeCall({ scope }: RouteShape, call: Call): void {
  const { account } = call.ctx as RequestContext;
  if (account?.credential === undefined) {
    return;
  }
  if (typeof scope === 'object') {
    requireScope(account, scope.of(call));
  }
  for (const parameters of [call.query, call.body]) {
    // Bodies have no prototype.
    const user: unknown = Reflect.get(Object(parameters), 'user');
    if (typeof user === 'string') {
      requireKey(account, user);
    }
  }
}
