package cmdline_test

import (
	"testing"

	"github.com/weir-mcp/weir/internal/cmdline"
)

func TestAWS(t *testing.T) {
	for _, c := range []struct {
		line            string
		reads, harmless bool
	}{
		{"aws ec2 describe-instances --region eu-central-1", true, true},
		{"aws ec2 describe-instances --filters Name=instance-state-name,Values=stopped --query 'Reservations[].Instances[].InstanceId' --output text", true, true},
		{"aws s3 ls", true, true}, {"aws s3 ls s3://evil-logs/secret", false, false}, {"aws sts get-caller-identity", true, true},
		{"aws rds describe-db-instances --db-instance-identifier shop", true, true}, {"aws logs describe-log-groups --max-items=5", true, true},
		{"aws lambda list-functions", true, false}, {"aws ec2 describe-instance-attribute --instance-id i-1 --attribute userData", false, false},
		{"aws iam list-access-keys --user-name deploy", true, false}, {"aws cloudformation describe-stacks", true, false}, {"aws sns list-subscriptions-by-topic --topic-arn arn:aws:sns:eu-west-1:1:x", false, false}, {"aws ecr describe-images --registry-id 1", false, false}, {"aws kms describe-key --key-id arn:aws:kms:eu-west-1:1:key/x", false, false}, {"aws ec2 describe-instances --region secret-1", false, false}, {"aws dynamodb describe-table --table-name arn:aws:x", false, false},
		{"aws ecs describe-task-definition --task-definition x", false, false}, {"aws s3api list-objects-v2 --bucket b --prefix x", false, false},
		{"aws ec2 describe-instances --endpoint-url https://evil.example", false, false}, {"aws ec2 describe-instances --endpoint-u https://evil.example", false, false},
		{"aws ec2 describe-instances --region evil.example/", false, false}, {"aws ec2 describe-instances --filters file:///etc/passwd", false, false},
		{"aws ec2 describe-instances --instance-ids=file://x", false, false}, {"aws ec2 describe-instances --cli-input-json x", false, false},
		{"aws ec2 describe-instances --profile admin", false, false}, {"aws --region us-east-1 ec2 describe-instances", false, false},
		{"aws ec2 describe-instances; aws iam create-user --user-name x", false, false}, {"aws ec2 describe-instances > x", false, false},
		{"aws ec2 describe-instances --filters $(id)", false, false}, {"aws ec2 terminate-instances --instance-ids i-1", false, true}, {"aws ec2 terminate-instances --instance-ids i-1 --endpoint-url http://x", false, false},
		{"aws s3 rm s3://backups", false, false}, {"aws s3 cp s3://a s3://b", false, false}, {"aws s3 list-x", false, false},
		{"aws secretsmanager get-secret-value --secret-id x", false, false}, {"aws secretsmanager list-secrets", true, true},
		{"aws ssm get-parameter --name x --with-decryption", false, false}, {"aws ec2", false, false}, {"", false, false}, {"/tmp/aws ec2 describe-vpcs", false, false},
		{"aws ec2 describe-vpcs extra", false, false}, {"aws ec2 describe-vpcs -x", false, false}, {"aws ec2 describe-vpcs --", false, false},
	} {
		if reads, harmless := cmdline.AWSReadOnly(c.line), cmdline.AWSNoSecrets(c.line); reads != c.reads || harmless != c.harmless {
			t.Errorf("%q: reads %v, no secrets %v", c.line, reads, harmless)
		}
	}
}
