import type { audit as source } from '../en/audit.ts';

export const audit: Readonly<Record<keyof typeof source, string>> = {
  'audit.type': '操作',
  'audit.target': '对象',
  'audit.actor': '操作者',
  'audit.at': '时间',
  'audit.seq': '序号',
  'audit.details': '详情',
  'audit.count': '{count, plural, other {# 行}}',
  'audit.none': '还没有任何操作。',
  'audit.noMatch': '没有这样的行。“操作者”和“对象”须完整匹配。',
  'audit.more': '显示更早的行',
  'audit.verify': '立即校验',
  'audit.verifying': '正在读取全部审计记录',
  'audit.whole': '{count, plural, other {# 行，均与写入时一致}}',
  'audit.broken': '第 {seq, number} 行：{problem}',
  'audit.anyType': '全部',
  'audit.since': '从',
  'audit.until': '到',
  'audit.export': '导出为 JSON 行',
  'audit.trimmed': '第 {seq, number} 行及以前的行因过期已删除。',
};
