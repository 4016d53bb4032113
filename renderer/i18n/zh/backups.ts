import type { backups as source } from '../en/backups.ts';

export const backups: Readonly<Record<keyof typeof source, string>> = {
  'backups.title': '备份',
  'backups.what':
    '数据库的副本，写入后都经过检查：任务、工作节点、令牌、审计记录。训练配置和此处的设置存放在数据库之外，不包含在内。',
  'backups.hourly': '上次每小时备份：',
  'backups.none': '还没有备份。',
  'backups.all': '{count, plural, other {显示全部 # 个}}',
  'backups.make': '创建备份',
  'backups.making': '正在备份并检查…',
  'backups.made': '备份已完成并通过检查。',
  'backups.size': '{size, number} MB',
  'backups.kind.hourly': '每小时',
  'backups.kind.manual': '手动',
  'backups.kind.upgrade': '升级之前',
  'backups.kind.restore': '恢复之前',
  'backups.restore': '恢复…',
  'backups.restore.of': '恢复 {name}',
  'backups.restore.title': '恢复此备份？',
  'backups.restore.consequence':
    '调度服务器将恢复到此备份的状态。此后对任务、工作节点和令牌的更改将被丢弃。审计记录会完整保留。',
  'backups.restore.asOf': '备份时间：',
  'backups.restore.saved': '会先把现在的状态保存为备份，以便撤销。',
  'backups.restore.workers':
    '工作节点会继续训练。备份中没有的任务会在其工作节点重新连接时停止；备份之后加入的工作节点需要重新加入。',
  'backups.restore.signIn':
    '会话和令牌也会恢复：此后吊销的令牌会重新生效，您可能需要重新登录。管理员令牌不变。',
  'backups.restore.type': '请输入其名称以确认：',
  'backups.restore.act': '恢复备份',
  'backups.restoring': '正在恢复 {name}：先保存当前状态，服务器会暂停片刻。此页面会自动重新连接。',
  'backups.restored': '已恢复。此前的状态已保存为 {saved}。',
  'retention.title': '审计记录',
  'retention.all': '全部保留。',
  'retention.some': '{count, plural, other {保留 # 天。}}',
  'retention.days': '保留天数',
  'retention.hint': '留空则全部保留。',
  'retention.what':
    '更早的条目每天会清除几次，并在原处留下经过签封的标记，因此其余部分仍可验证；清除后无法找回，如有需要请先导出。',
};
