import { StartError } from '../core/errors.ts';
import { mastersOf, type RedisLink, type RedisNode } from './client.ts';
import { isForbiddenCommand } from './errors.ts';
import { infoField } from './info.ts';
import { asList, asText } from './reply.ts';

/** The oldest version of Redis, and of Valkey by the version of Redis that it names. */
const MAJOR_MIN = 7;

/** Names of keys begin with a brace. */
const KEY = '{probe}';

/** Commands without a key, with arguments. The others of a vault are called with a key. */
const KEYLESS = ['ping', 'info', 'time', 'dbsize', 'wait 1 1', 'multi', 'exec', 'eval x 0', 'evalsha x 0'];
const KEYED = `
  exists type rename del unlink persist pexpire pexpiretime pttl get mget set incr decr
  hset hsetnx hmset hget hmget hgetall hkeys hlen hstrlen hexists hincrby hscan hdel
  sadd scard srem sscan smembers sismember
  zadd zrem zcard zcount zscore zmscore zrange zrangebyscore zpopmin bzpopmin zremrangebyrank zremrangebyscore
  lpush rpush rpoplpush lpop lrem llen lrange lindex lpos ltrim xadd xtrim`
  .trim()
  .split(/\s+/);

/** Further commands on a Cluster. */
const OF_CLUSTER = ['cluster|slots', 'cluster|info'];

/** The commands that a vault needs, with their subcommands. */
export const REQUIRED_COMMANDS: readonly string[] = [
  ...KEYLESS.map((call) => call.split(' ')[0] ?? ''),
  ...[...KEYED, ...OF_CLUSTER],
];

/** Names the commands that this user may not run. It runs none of them. */
const SCRIPT = `local denied = {}
if not redis.acl_check_cmd then return denied end
for _, call in ipairs(cjson.decode(ARGV[1])) do
  local known, allowed = pcall(redis.acl_check_cmd, unpack(call))
  if known and not allowed then table.insert(denied, call[1]) end
end
return denied`;

/** The calls to check. Every argument may be a key, and surplus ones do no harm. */
function callsOn(isCluster: boolean): readonly (readonly string[])[] {
  return [
    ...KEYLESS.map((call) => call.split(' ')),
    ...KEYED.map((name) => [name, KEY, KEY, KEY]),
    ...(isCluster ? OF_CLUSTER.map((name) => name.split('|')) : []),
  ];
}

/** The reply to a command that the check needs. */
async function ask(node: RedisNode, name: string, args: readonly string[]): Promise<unknown> {
  try {
    return await node.command(name, args);
  } catch (error) {
    if (isForbiddenCommand(error)) {
      throw new StartError(`Redis does not let its user run the command ${name.toLowerCase()}.`);
    }
    throw error;
  }
}

async function checkNode(node: RedisNode, isCluster: boolean): Promise<void> {
  const info = asText(await ask(node, 'INFO', ['server']));
  const version = infoField(info, 'redis_version');
  if (Number.parseInt(version ?? '', 10) < MAJOR_MIN) {
    throw new StartError(`Redis ${version} is too old; version ${MAJOR_MIN} or newer is needed.`);
  }
  const calls = JSON.stringify(callsOn(isCluster));
  const denied = asList(await ask(node, 'EVAL', [SCRIPT, '0', calls])).map(asText);
  if (KEYED.every((name) => denied.includes(name))) {
    throw new StartError('Redis does not let its user use the keys of a vault, which begin with a brace.');
  }
  if (denied.length > 0) {
    throw new StartError(`Redis does not let its user run these commands: ${denied.join(', ')}.`);
  }
}

/** Throws a `StartError` when Redis is too old, or its user lacks permissions that every vault needs. */
export async function checkRequirements(redis: RedisLink): Promise<void> {
  for (const node of mastersOf(redis)) {
    await checkNode(node, redis.isCluster);
  }
}
