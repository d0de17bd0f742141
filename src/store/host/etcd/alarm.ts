/** What is wrong with etcd, by the errors that a member's status has; undefined if nothing is. Alarms of any member are among them. */
export function alarmOf(errors: readonly string[]): string | undefined {
  const alarms = errors.join("; ");
  if (/NOSPACE/.test(alarms))
    return "etcd has no space left: after compaction, defragment its members and disarm the alarm NOSPACE";
  if (/CORRUPT/.test(alarms)) return `etcd holds its data to be corrupt: ${alarms}`;
  return alarms === "" ? undefined : alarms;
}
