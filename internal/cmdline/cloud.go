package cmdline

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// AWSReadOnly reports whether a line is a command of the AWS command line that only looks: describe and list of any
// service, and a few more by name, with options on a list. Options that take another endpoint, a file or a URL are not
// on it.
func AWSReadOnly(line string) bool {
	service, operation, ok := awsCommand(line)
	looks := service != "s3" && (strings.HasPrefix(operation, "describe-") || strings.HasPrefix(operation, "list-"))
	return ok && (looks || awsOpen[service].has(operation))
}

// AWSNoSecrets reports whether a line is a command of the AWS command line, with options on that list, that shows no
// credentials: it is known to read no user data, environment of a function or task, parameter or connection, or to
// answer with the state of its target.
func AWSNoSecrets(line string) bool {
	service, operation, ok := awsCommand(line)
	return ok && (awsOpen[service].has(operation) || awsActs[service].has(operation))
}

// awsCommand returns service and operation of a command whose options are all on the list.
func awsCommand(line string) (service, operation string, ok bool) {
	all, ok := Words(line)
	if !ok || len(all) < 3 || all[0] != "aws" || !awsName().MatchString(all[1]) || !awsName().MatchString(all[2]) {
		return "", "", false
	}
	return all[1], all[2], awsOptions(all[3:])
}

// awsOptions reports whether each word is an option of the list or a value of one.
func awsOptions(all []string) bool {
	option := ""
	for _, w := range all {
		name, value, joined := strings.Cut(w, "=")
		switch {
		case strings.HasPrefix(w, "-"):
			if option = strings.TrimPrefix(name, "--"); !awsChoices.has(option) || option == name {
				return false
			}
			if joined && !awsValue(option, value) {
				return false
			}
		case option == "" || !awsValue(option, w):
			return false
		}
	}
	return true
}

var (
	awsName   = pattern.New(`^[a-z0-9][a-z0-9-]*$`)
	awsRegion = pattern.New(`^(af|ap|ca|cn|eu|il|me|mx|sa|us|us-gov)-(central|north|south|east|west|northeast|northwest|southeast|southwest)-[1-9]$`)
)

// awsValue reports whether a value stands for itself: the command line reads files and pages for values that are URLs.
func awsValue(option, value string) bool {
	switch option {
	case "region":
		return awsRegion().MatchString(value)
	case "output":
		return slices.Contains([]string{"json", "text", "table", "yaml"}, value)
	}
	return !strings.Contains(value, "://") && !strings.HasPrefix(value, "@") && !strings.Contains(value, "arn:")
}

// awsChoices are options whose values cannot choose whose account is asked: no bucket, ARN, registry, account or owner.
var awsChoices = words(`region output query max-items page-size max-results no-paginate no-cli-pager filters filter namespace dimensions start-time end-time
	period statistics unit cluster clusters services nodegroup-name human-readable summarize granularity metrics time-period include-all-instances
	no-include-all-instances instance-ids instance-types volume-ids vpc-ids subnet-ids db-instance-identifier db-cluster-identifier table-name metric-name
	alarm-names log-group-name auto-scaling-group-names load-balancer-names user-name stack-status-filter state-value desired-status`)

// awsActs are operations that change something, by service, and answer with the state of their target.
var awsActs = map[string]words{
	"autoscaling": words("set-desired-capacity terminate-instance-in-auto-scaling-group"),
	"ec2":         words("terminate-instances stop-instances start-instances reboot-instances create-tags delete-tags delete-snapshot delete-volume"),
	"ecs":         words("stop-task delete-service"),
	"elasticache": words("reboot-cache-cluster"),
	"rds":         words("reboot-db-instance start-db-instance stop-db-instance create-db-snapshot delete-db-snapshot"),
}

// awsOpen are operations that only read, by service, and whose output holds no credentials.
var awsOpen = map[string]words{
	"acm":            words("list-certificates describe-certificate"),
	"autoscaling":    words("describe-auto-scaling-groups describe-auto-scaling-instances describe-scaling-activities describe-policies"),
	"ce":             words("get-cost-and-usage"),
	"cloudformation": words("list-stacks list-stack-resources list-exports"),
	"cloudtrail":     words("describe-trails list-trails"),
	"cloudwatch":     words("list-metrics describe-alarms describe-alarm-history get-metric-statistics list-dashboards"),
	"dynamodb":       words("list-tables describe-table list-backups"),
	"ec2": words(`describe-instances describe-instance-status describe-instance-types describe-regions describe-availability-zones describe-vpcs describe-subnets
		describe-security-groups describe-security-group-rules describe-volumes describe-volume-status describe-snapshots describe-images describe-addresses
		describe-route-tables describe-internet-gateways describe-nat-gateways describe-network-interfaces describe-network-acls describe-key-pairs describe-tags
		describe-vpc-endpoints describe-vpc-peering-connections describe-reserved-instances describe-hosts`),
	"ecr":           words("describe-repositories describe-images list-images"),
	"ecs":           words("list-clusters list-services list-tasks list-task-definitions describe-clusters describe-services list-container-instances"),
	"efs":           words("describe-file-systems describe-mount-targets"),
	"eks":           words("list-clusters describe-cluster list-nodegroups describe-nodegroup list-addons"),
	"elasticache":   words("describe-cache-clusters describe-replication-groups describe-events"),
	"elb":           words("describe-load-balancers describe-instance-health"),
	"elbv2":         words("describe-load-balancers describe-target-groups describe-target-health describe-listeners"),
	"iam":           words("list-users list-roles list-groups list-policies list-attached-role-policies list-attached-user-policies list-groups-for-user list-mfa-devices"),
	"kms":           words("list-keys list-aliases describe-key"),
	"lambda":        words("list-aliases list-event-source-mappings"),
	"logs":          words("describe-log-groups describe-log-streams"),
	"organizations": words("list-accounts describe-organization"),
	"rds": words(`describe-db-instances describe-db-clusters describe-db-snapshots describe-db-cluster-snapshots describe-events
		describe-db-engine-versions describe-db-subnet-groups describe-pending-maintenance-actions`),
	"route53":        words("list-hosted-zones list-resource-record-sets"),
	"s3":             words("ls"),
	"s3api":          words("list-buckets"),
	"secretsmanager": words("list-secrets"),
	"sns":            words("list-topics"),
	"sqs":            words("list-queues"),
	"sts":            words("get-caller-identity"),
}
