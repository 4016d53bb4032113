import type { audit as source } from '../en/audit.ts';

export const audit: Readonly<Record<keyof typeof source, string>> = {
  'audit.type': '事件',
  'audit.target': '对象',
  'audit.actor': '操作者',
  'audit.at': '时间',
  'audit.seq': '序号',
  'audit.details': '详情',
  'audit.count': '{count, plural, other {# 条}}',
  'audit.none': '还没有记录。对任务、工作节点和令牌的操作会显示在这里。',
  'audit.noMatch': '没有符合筛选的记录。“操作者”和“对象”须完整匹配。',
  'audit.more': '显示更早的记录',
  'audit.verify': '校验记录',
  'audit.verifying': '正在校验全部记录',
  'audit.whole': '{count, plural, other {已校验 # 条，均未更改}}',
  'audit.broken': '第 {seq, number} 条：{problem}',
  'audit.anyType': '所有事件',
  'audit.since': '从',
  'audit.until': '到',
  'audit.export': '导出为 JSON Lines',
  'audit.trimmed': '第 {seq, number} 条及以前的记录因过期已删除。',
};
